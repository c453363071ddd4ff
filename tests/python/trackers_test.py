"""medley follow against the real MLflow, Trackio and W&B (offline), each asked with its own means for what it has.

The Python is that of MEDLEY_TEST_TRACKERS, else of .venv-trackers, which `tools/setup --trackers` makes; without one it is skipped."""
import json
import os
import pathlib
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest
import zlib

SOURCE, BUILD = pathlib.Path(os.environ["MEDLEY_SOURCE"]), pathlib.Path(os.environ["MEDLEY_BUILD"])
PYTHON = os.environ.get("MEDLEY_TEST_TRACKERS") or str(SOURCE / ".venv-trackers/bin/python")
MEDLEY = str(BUILD / "bin/medley")
if not os.path.exists(PYTHON):
    print("skipped: no trackers are here: tools/setup --trackers, or MEDLEY_TEST_TRACKERS names a Python that has mlflow, trackio and wandb")
    sys.exit(77)
if sys.prefix != str(pathlib.Path(PYTHON).parent.parent):  # what reads them back is of that Python
    sys.exit(subprocess.run([PYTHON, "-W", "ignore", __file__, *sys.argv[1:]]).returncode)

from follow_test import Written, metrics_line, score, timing_line  # noqa: E402

OVERFLOW = {"task": "zoom", "phase": "backward", "from": 8, "to": 4}


def png():
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    pixel = zlib.compress(b"\0\xff\0\0")
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)) + chunk(b"IDAT", pixel) + chunk(b"IEND", b"")



class OfMlflow:
    name = "mlflow"

    def __init__(self, folder):
        import mlflow

        uri = f"sqlite:///{folder}/mlflow.db"
        self.environment = {"MLFLOW_TRACKING_URI": uri}
        self._client = mlflow.MlflowClient(uri)

    def runs(self):
        found = self._client.search_runs([self._client.get_experiment_by_name("medley").experiment_id])
        return {run.info.run_name: run for run in found}

    def steps(self, name, key):
        history = self._client.get_metric_history(self.runs()[name].info.run_id, key)
        return sorted((metric.step, metric.value) for metric in history)

    def config(self, name):
        return self.runs()[name].data.params

    def events(self, name):
        path = self._client.download_artifacts(self.runs()[name].info.run_id, "events.jsonl")
        lines = [json.loads(line) for line in pathlib.Path(path).read_text().splitlines()]
        return [(line["step"], line["kind"], line["words"]) for line in lines]

    def sheets(self, name):
        run = self.runs()[name].info.run_id
        return [file.path for folder in self._client.list_artifacts(run, "sheets") for file in self._client.list_artifacts(run, folder.path)]

    def link(self, name):
        tags = self.runs()[name].data.tags
        return tags.get("medley.continues"), tags.get("mlflow.parentRunId") == self.runs()[tags.get("medley.continues")].info.run_id


class OfTrackio:
    name = "trackio"

    def __init__(self, folder):
        self.environment = {"TRACKIO_DIR": str(folder / "trackio")}
        os.environ.update(self.environment)  # read when it is imported
        for module in [module for module in sys.modules if module.split(".")[0] == "trackio"]:
            del sys.modules[module]
        import trackio
        from trackio.sqlite_storage import SQLiteStorage

        self._api, self._storage = trackio.Api(), SQLiteStorage

    def runs(self):
        return {run.name: run for run in self._api.runs("medley")}

    def _logs(self, name):
        return self._storage.get_logs("medley", name, run_id=self.runs()[name].id)

    def steps(self, name, key):
        return sorted((log["step"], log[key]) for log in self._logs(name) if key in log)

    def config(self, name):
        return {key: str(value) for key, value in self.runs()[name].config.items()}

    def events(self, name):
        return sorted((alert["step"], alert["title"], alert["text"] or "") for alert in self.runs()[name].alerts())

    def sheets(self, name):
        return [log["sheet/zoom"]["file_path"] for log in self._logs(name) if "sheet/zoom" in log]

    def link(self, name):
        config = self.runs()[name].config
        return config.get("medley.continues"), config.get("_Group") == config.get("medley.continues")


class OfWandb:
    """Its offline files, by its own messages: a log of LevelDB's form, in blocks of 32 KiB."""

    name = "wandb"

    def __init__(self, folder):
        self.environment = {"WANDB_MODE": "offline", "WANDB_DIR": str(folder), "WANDB_SILENT": "true"}
        self._folder = folder

    def _records(self, file):
        from wandb.proto import wandb_internal_pb2

        data, at, text = file.read_bytes(), 7, b""
        while at + 7 <= len(data):
            if 32768 - at % 32768 < 7:
                at += 32768 - at % 32768
                continue
            size, kind = struct.unpack_from("<HB", data, at + 4)
            if kind == 0 or at + 7 + size > len(data):
                return
            text = (text if kind > 2 else b"") + data[at + 7 : at + 7 + size]
            at += 7 + size
            if kind in (1, 4):
                record = wandb_internal_pb2.Record()
                record.ParseFromString(text)
                yield record

    def runs(self):
        runs = {}
        for file in sorted(self._folder.glob("wandb/offline-run-*/*.wandb")):
            records = list(self._records(file))
            run = next((record.run for record in records if record.HasField("run")), None)
            if run is None:  # killed before it had a block
                continue
            rows = [{"/".join(item.nested_key) or item.key: json.loads(item.value_json) for item in record.history.item}
                    for record in records if record.HasField("history")]
            runs.setdefault(run.display_name, (run, []))[1].extend(rows)
        return runs

    def steps(self, name, key):
        return [(row["_step"], row[key]) for row in self.runs()[name][1] if key in row]

    def config(self, name):
        return {item.key: str(json.loads(item.value_json)) for item in self.runs()[name][0].config.update}

    def events(self, name):
        return [(row["_step"], key[6:], value) for row in self.runs()[name][1] for key, value in row.items() if key.startswith("event/")]

    def sheets(self, name):
        return [value for row in self.runs()[name][1] for key, value in row.items() if key.startswith("sheet/zoom/path")]

    def link(self, name):
        run = self.runs()[name][0]
        return run.run_group, "Continues " + run.run_group in run.notes


class Real:
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="medley_trackers_")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name).resolve()
        self.run_ = Written(self.folder / "mine")
        self.addCleanup(self.run_.release)
        self.tracker = self.tracker_class(self.folder)
        self.environment = {**os.environ, **self.tracker.environment, "MEDLEY_PYTHON": PYTHON, "XDG_STATE_HOME": str(self.folder / "state")}

    def start(self):
        return subprocess.Popen([MEDLEY, "follow", "mine", "--to", self.tracker.name], cwd=self.folder, env=self.environment, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def follow(self):
        running = self.start()
        said = running.communicate(timeout=300)[0]
        self.assertEqual(running.returncode, 0, said)
        return said

    def wait_for(self, step):
        """Until that step is noted as sent."""
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            for file in (self.folder / "state/medley/follow").glob("*.json"):
                if json.loads(file.read_text())["place"]["step"] >= step:
                    return
            time.sleep(0.1)
        self.fail(f"step {step} never came")

    def assert_once(self, name, steps):
        self.assertEqual(self.tracker.steps(name, "loss/zoom/error"), [(step, 1 / step) for step in steps if step % 4])
        self.assertEqual([step for step, _ in self.tracker.steps(name, "memory/peak")], list(steps))

    def test_a_run_that_is_over(self):
        self.run_.steps(1, 40)
        self.run_.append("weights.jsonl", {"step": 12, "cause": "edit", "words": "zoom 1 -> 2"})
        self.run_.append("metrics.jsonl", metrics_line(41, eval=score(0.3)))
        self.run_.append("timing.jsonl", timing_line(41, out_of_memory=[OVERFLOW]))
        (self.run_.path / "sheet-zoom.png").write_bytes(png())
        self.run_.write("eval.json", {"step": 41, "tasks": score(0.2)})
        self.run_.end(41)
        self.follow()
        self.follow()
        self.assert_once("mine", range(1, 42))
        self.assertEqual(self.tracker.steps("mine", "score/zoom/high"), [(41, 0.4)])
        self.assertEqual(self.tracker.steps("mine", "eval/zoom"), [(41, 0.2)])
        self.assertEqual(self.tracker.config("mine")["optimizer.learning_rate"], "0.001")
        self.assertEqual(sorted(self.tracker.events("mine")), [
            (12, "edit", "zoom 1 -> 2"), (41, "ended", "all its steps are done"), (41, "out of memory", "zoom backward: goes on with 4 rows at once")])
        self.assertEqual(len(self.tracker.sheets("mine")), 1)

    def test_killed_interrupted_and_without_its_notes(self):
        self.run_.hold()
        self.run_.steps(1, 20)
        self.run_.append("weights.jsonl", {"step": 12, "cause": "edit", "words": "zoom 1 -> 2"})
        running = self.start()
        self.wait_for(19)
        running.kill()
        running.communicate()
        time.sleep(1)  # W&B's own process sees that it is alone
        self.run_.steps(21, 40)
        running = self.start()
        self.wait_for(39)
        running.send_signal(signal.SIGINT)
        said = running.communicate(timeout=60)[0]
        self.assertEqual(running.returncode, 130, said)
        self.assertIn("goes on from here", said)
        self.run_.steps(41, 60)
        for file in (self.folder / "state/medley/follow").iterdir():
            file.unlink()
        self.run_.end(60)
        self.follow()
        self.assert_once("mine", range(1, 61))
        self.assertEqual(sorted(self.tracker.events("mine")), [(12, "edit", "zoom 1 -> 2"), (60, "ended", "all its steps are done")])

    def test_a_run_that_went_back_is_a_second_one_that_is_linked(self):
        self.run_.steps(1, 30)
        self.follow()
        self.run_.cut(20)
        self.run_.start(20)
        self.run_.steps(21, 28, loss=9)
        self.run_.end(28)
        self.follow()
        self.assertEqual(sorted(self.tracker.runs()), ["mine", "mine.2"])
        self.assert_once("mine", range(1, 31))
        self.assertEqual([step for step, _ in self.tracker.steps("mine.2", "loss")], list(range(1, 29)))
        self.assertEqual(self.tracker.steps("mine.2", "loss")[-1], (28, 9))
        self.assertEqual(self.tracker.link("mine.2"), ("mine", True))


class Mlflow(Real, unittest.TestCase):
    tracker_class = OfMlflow

    def refused(self, uri, code):
        self.environment["MLFLOW_TRACKING_URI"] = uri
        running = self.start()
        said = running.communicate(timeout=120)[0]
        self.assertEqual(running.returncode, code, said)
        self.assertNotIn("Traceback", said)
        return said.replace("\n", " ")

    def test_places_that_are_none(self):
        before = sorted(os.listdir(self.run_.path))
        self.assertIn("store of files", self.refused("./mlruns", 2))
        self.assertIn("lies in the run", self.refused(f"sqlite:///{self.run_.path}/mlflow.db", 2))
        self.assertIn("nsupported", self.refused("strange://somewhere", 1))
        self.environment["MLFLOW_HTTP_REQUEST_MAX_RETRIES"] = "0"
        self.assertNotIn("secret", self.refused("http://me:secret@127.0.0.1:9", 1))
        self.assertEqual(sorted(os.listdir(self.run_.path)), before)


class Trackio(Real, unittest.TestCase):
    tracker_class = OfTrackio

    def test_another_run_of_that_name_is_left_alone(self):
        self.run_.steps(1, 3)
        self.run_.end(3)
        self.follow()
        self.environment["XDG_STATE_HOME"] = str(self.folder / "other")
        (self.folder / "mine").rename(self.folder / "moved")
        (self.folder / "elsewhere").mkdir()
        other = Written(self.folder / "elsewhere/mine")
        other.steps(1, 3)
        other.end(3)
        done = subprocess.run([MEDLEY, "follow", "elsewhere/mine", "--to", "trackio"], cwd=self.folder, env=self.environment, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertIn("--name", done.stdout)


class Wandb(Real, unittest.TestCase):
    tracker_class = OfWandb


if __name__ == "__main__":
    unittest.main()
