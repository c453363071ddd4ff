"""What medley follow hands to a tracker: a pretended one, and runs written by hand. Needs no torch and no tracker."""
import contextlib
import fcntl
import importlib.util
import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

SOURCE = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ["MEDLEY_BUILD"])
MEDLEY = str(BUILD / "bin/medley")
PACKAGE = BUILD / "lib/medley/python/medley/_follow"

spec = importlib.util.spec_from_file_location("follow_main", PACKAGE / "__main__.py")
main = importlib.util.module_from_spec(spec)
spec.loader.exec_module(main)
main.load()

from medley_follow import command, logs, state, values  # noqa: E402
from medley_follow import follower as follower_module  # noqa: E402
from medley_follow.run_files import RunFiles  # noqa: E402
from medley_follow.target import Target  # noqa: E402
from medley_follow.words import BadInput, TargetError, printable  # noqa: E402

MIB = 1 << 20


def metrics_line(step, loss=None, **more):
    loss = 1 / step if loss is None else loss
    term = {"mean": loss, "sum": 2 * loss, "count": 2, "weighted": loss}
    draws = [{"task": "zoom" if step % 4 else "turn", "begin": 0, "rows": 8}]
    return {"step": step, "draws": draws, "loss": loss, "terms": {draws[0]["task"]: {"error": term}}, "grad_norm": 0.5, "lr": 1e-3, **more}


def timing_line(step, seconds=0.5, **more):
    return {"step": step, "seconds": seconds, "rows_per_second": 16.0, "memory_now": 3 * MIB, "memory_peak": 5 * MIB, "tasks": {"zoom": {}}, **more}


def score(value):
    return {"zoom": {"metric": "error", "value": value, "low": value - 0.1, "high": value + 0.1, "figures": {"hit": {"value": 0.5}}}}


class Written:
    """A run that grows as it is told to."""

    def __init__(self, path):
        self.path = path
        path.mkdir()
        self.write("config.resolved.json", {"steps": 60, "optimizer": {"learning_rate": 1e-3}})
        self.starts = [{"time": "2026-01-01T00:00:00Z", "step": 0, "config": "config.resolved.json"}]
        self.write("run.json", {"starts": self.starts})
        self.write("weights.jsonl", {"step": 0, "cause": "start", "name": "", "words": ""})
        self.holder = None

    def write(self, name, value):
        (self.path / name).write_text(json.dumps(value) + "\n")

    def append(self, name, *lines):
        with open(self.path / name, "a", encoding="utf-8") as file:
            file.writelines(json.dumps(line) + "\n" for line in lines)

    def steps(self, first, last, loss=None):
        for step in range(first, last + 1):
            self.append("metrics.jsonl", metrics_line(step, loss))
            self.append("timing.jsonl", timing_line(step))

    def cut(self, steps):
        for name in ("metrics.jsonl", "timing.jsonl"):
            lines = (self.path / name).read_text().splitlines(keepends=True)
            (self.path / name).write_text("".join(line for line in lines if json.loads(line)["step"] <= steps))

    def start(self, step, **more):
        self.starts.append({"time": "2026-01-01T01:00:00Z", "step": step, **more})
        self.write("run.json", {"starts": self.starts})

    def end(self, step, how="ended", why="all its steps are done"):
        self.starts[-1]["ended"] = {"step": step, "why": why, "how": how, "time": "2026-01-01T02:00:00Z"}
        self.write("run.json", {"starts": self.starts})
        self.release()

    def hold(self):
        (self.path / "run.lock").write_text("{}\n")
        self.holder = open(self.path / "run.lock")
        fcntl.flock(self.holder, fcntl.LOCK_EX)

    def release(self):
        if self.holder:
            self.holder.close()
            (self.path / "run.lock").write_text("")
            self.holder = None


class Pretended(Target):
    """Has what it was sent, by segment; it may lose rows, and be away."""

    name = "pretended"

    def __init__(self, tells_last=False):
        self.project = "medley"
        self.segments, self.now, self.tells_last = {}, None, tells_last
        self.away = 0
        self.closed = []

    def place(self):
        return "here"

    def open(self, segment):
        self.now = self.segments.setdefault(segment.name, {"segment": segment, "rows": [], "events": [], "files": []})
        steps = [row.step for row in self.now["rows"]]
        return "id-" + segment.name, max(steps, default=-1) if self.tells_last else None

    def send(self, rows, events):
        if self.away:
            self.away -= 1
            raise TargetError("nobody answers")
        self.now["rows"] += [row for row in rows if row.values]
        self.now["events"] += [event for row in rows for event in row.events]
        self.now["file"] = pathlib.Path(events).read_text().splitlines() if events else self.now.get("file", [])

    def send_scores(self, row):
        self.now["rows"].append(row)

    def show(self, task, file, step):
        self.now["files"].append((task, step))

    def close(self, how, seconds):
        self.closed.append((how, seconds))


class Killed(BaseException):
    pass


class Following(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="medley_follow_")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name).resolve()
        self.run_ = Written(self.folder / "run")
        self.addCleanup(self.run_.release)
        self.target = Pretended()
        self.said = []

    def follow(self, pauses=(), target=None):
        """`pauses`: what happens while it waits, one after the other; behind the last one it is killed."""
        target, acts = target or self.target, list(pauses)

        def pause(seconds):
            if not acts:
                raise Killed
            acts.pop(0)()

        noted = state.State((str(self.run_.path), "pretended"), self.said.append, self.folder / "state")
        following = follower_module.Follower(RunFiles(str(self.run_.path)), target, noted, "mine", self.said.append, pause)
        try:
            return following.follow()
        except Killed:
            return "killed"
        finally:
            noted.close()
            self.dropped = following.dropped

    def steps(self, name="mine"):
        return [row.step for row in self.target.segments[name]["rows"]]

    def kinds(self, name="mine"):
        return [(event.step, event.kind) for event in self.target.segments[name]["events"]]

    def test_names_are_those_of_the_table(self):
        self.run_.append("metrics.jsonl", {"step": 0, "eval": score(0.9)}, metrics_line(1), metrics_line(2, eval=score(0.4)))
        self.run_.append("timing.jsonl", timing_line(1), timing_line(2))
        self.run_.end(2)
        self.assertEqual(self.follow(), "ended")
        first, one, two = (row.values for row in self.target.segments["mine"]["rows"])
        self.assertEqual(first, {"score/zoom": 0.9, "score/zoom/low": 0.8, "score/zoom/high": 1.0, "score/zoom/hit": 0.5})
        self.assertEqual(one, {"loss": 1, "loss/zoom": 1, "loss/zoom/error": 1, "optimizer/learning_rate": 1e-3, "optimizer/gradient_norm": 0.5,
                               "memory/floor": 3, "memory/peak": 5, "speed/rows_per_second": 16, "share/zoom": 1})
        self.assertEqual(two["score/zoom"], 0.4)
        config = self.target.segments["mine"]["segment"].config
        self.assertEqual(config, {"steps": 60, "optimizer.learning_rate": 1e-3})

    def test_names_are_in_the_docs(self):
        table = (pathlib.Path(os.environ["MEDLEY_SOURCE"]) / "docs/follow.md").read_text()
        line = metrics_line(1, eval={"zoom": {**score(1)["zoom"], "text": {"say": {"perplexity": 2, "bits_per_byte": 1}}}})
        timing = timing_line(1)
        timing["tasks"]["zoom"]["operations_per_second"] = 1
        names = {*values.of_step(line), *values.of_timing(timing), *values.of_scores(line["eval"], "eval"), "share/zoom"}
        for name in names:
            general = name.replace("zoom", "TASK").replace("error", "TERM").replace("say", "TERM").replace("hit", "FIGURE")
            self.assertIn(f"`{general}`", table)

    def test_each_step_comes_once_over_kills(self):
        self.run_.hold()
        self.run_.steps(1, 20)
        self.assertEqual(self.follow([lambda: self.run_.steps(21, 30)]), "killed")
        self.assertEqual(self.follow([lambda: self.run_.steps(31, 40)]), "killed")
        self.run_.steps(41, 60)
        self.run_.end(60)
        self.assertEqual(self.follow(), "ended")
        self.assertEqual(self.follow(), "ended")
        self.assertEqual(self.steps(), list(range(1, 61)))
        self.assertEqual(self.kinds(), [(60, "ended")])

    def test_what_was_not_noted_is_sent_again_with_the_same_times(self):
        self.run_.steps(1, 30)
        self.run_.end(30)
        noted, state.State.note = state.State.note, lambda self: None
        try:
            self.follow()
        finally:
            state.State.note = noted
        self.follow()
        rows = self.target.segments["mine"]["rows"]
        self.assertEqual(rows[:30], rows[30:])
        self.assertEqual([rows[0].seconds, rows[29].seconds], [1767225600.5, 1767225615.0])

    def test_a_tracker_that_tells_what_it_has_gets_the_rest(self):
        target = Pretended(tells_last=True)
        self.run_.hold()
        self.run_.steps(1, 30)
        self.run_.append("weights.jsonl", {"step": 12, "cause": "edit", "name": "", "words": "zoom 1 -> 2"}, {"step": 25, "cause": "stage", "name": "b"})
        self.follow([], target)
        del target.segments["mine"]["rows"][20:]  # with the events of those steps
        target.segments["mine"]["events"] = [event for event in target.segments["mine"]["events"] if event.step <= 20]
        self.run_.end(30)
        self.follow([], target)
        self.target = target
        self.assertEqual(self.steps(), list(range(1, 31)))
        self.assertEqual(self.kinds(), [(12, "edit"), (25, "stage"), (30, "ended")])

    def test_without_its_notes_such_a_tracker_gets_nothing_twice(self):
        target = Pretended(tells_last=True)
        self.run_.steps(1, 30)
        self.run_.append("weights.jsonl", {"step": 12, "cause": "edit"})
        self.run_.end(30)
        self.follow([], target)
        for file in (self.folder / "state").iterdir():
            file.unlink()
        self.follow([], target)
        self.target = target
        self.assertEqual(self.steps(), list(range(1, 31)))
        self.assertEqual(self.kinds(), [(12, "edit"), (30, "ended")])

    def test_damaged_notes_are_said(self):
        self.run_.steps(1, 5)
        self.run_.end(5)
        self.follow()
        for file in (self.folder / "state").glob("*.json"):
            file.write_text("{")
        self.follow()
        self.assertIn("is damaged", self.said[-1])

    def test_a_line_that_is_being_written_waits(self):
        self.run_.hold()
        self.run_.steps(1, 3)
        whole = json.dumps(metrics_line(4)) + "\n"

        def write(text):
            with open(self.run_.path / "metrics.jsonl", "a") as file:
                file.write(text)

        def finish():
            write(whole[30:])
            self.run_.append("timing.jsonl", timing_line(4))

        write(whole[:30])
        self.follow([finish])
        self.assertEqual(self.steps(), [1, 2, 3, 4])

    def test_the_newest_step_waits_for_its_times(self):
        self.run_.hold()
        self.run_.steps(1, 3)
        self.run_.append("metrics.jsonl", metrics_line(4))

        def look_and_end():
            self.assertEqual(self.steps(), [1, 2, 3])
            self.run_.append("timing.jsonl", timing_line(4))
            self.run_.append("metrics.jsonl", metrics_line(5))
            self.run_.end(5)

        self.assertEqual(self.follow([look_and_end]), "ended")
        self.assertEqual(self.steps(), [1, 2, 3, 4, 5])
        self.assertIn("memory/peak", self.target.segments["mine"]["rows"][3].values)
        self.assertNotIn("memory/peak", self.target.segments["mine"]["rows"][4].values)

    def test_a_resume_that_repeats_its_steps_goes_on_in_place(self):
        self.run_.hold()
        self.run_.steps(1, 30)

        def go_back():
            self.run_.start(20)
            self.run_.cut(20)

        def again():
            self.assertEqual(self.steps(), list(range(1, 31)))
            self.run_.steps(21, 25)

        self.follow([go_back, again, lambda: self.run_.steps(26, 40)])
        self.run_.end(40)
        self.follow()
        self.assertEqual(list(self.target.segments), ["mine"])
        self.assertEqual(self.steps(), list(range(1, 41)))
        self.assertEqual(self.kinds(), [(20, "resume"), (40, "ended")])
        rows = self.target.segments["mine"]["rows"]
        self.assertEqual(rows[30].seconds, 1767229200 + 11 * 0.5)  # by the second start's clock

    def test_a_resume_that_went_another_way_is_a_segment_of_its_own(self):
        self.run_.hold()
        self.run_.steps(1, 30)

        def go_back():
            self.run_.start(20, config="config.resolved.1.json")
            self.run_.write("config.resolved.1.json", {"steps": 60, "optimizer": {"learning_rate": 5e-4}})
            self.run_.cut(20)
            self.run_.steps(21, 22, loss=9)

        def end():
            self.assertEqual(self.steps("mine.2"), list(range(1, 23)))  # at once: it needn't come as far as it was
            self.run_.steps(23, 40, loss=9)
            self.run_.end(40)

        self.assertEqual(self.follow([go_back, end]), "ended")
        self.assertEqual(self.steps("mine"), list(range(1, 31)))
        self.assertEqual(self.steps("mine.2"), list(range(1, 41)))
        second = self.target.segments["mine.2"]["segment"]
        self.assertEqual((second.first_name, second.first_id, second.number), ("mine", "id-mine", 2))
        self.assertEqual(second.config["optimizer.learning_rate"], 5e-4)
        resumed = [event for event in self.target.segments["mine.2"]["events"] if event.kind == "resume"]
        self.assertEqual(resumed[0].words, "optimizer.learning_rate 0.001 -> 0.0005")
        self.assertEqual(self.follow(), "ended")
        self.assertEqual(len(self.target.segments), 2)

    def test_a_run_that_went_back_while_nobody_looked(self):
        self.run_.hold()
        self.run_.steps(1, 30)
        self.follow()
        self.run_.cut(10)
        self.run_.start(10)
        self.run_.steps(11, 50, loss=9)
        self.run_.end(50)
        self.follow()
        self.assertEqual(self.steps("mine.2"), list(range(1, 51)))
        self.run_.cut(10)
        self.run_.start(10)
        self.run_.steps(11, 12, loss=7)
        self.run_.end(12)
        self.follow()
        self.assertEqual(self.steps("mine.3"), list(range(1, 13)))
        self.assertEqual(self.target.segments["mine.3"]["segment"].first_id, "id-mine")

    def test_what_a_later_resume_went_back_behind_did_not_happen(self):
        self.run_.steps(1, 60)
        self.run_.end(60)
        self.run_.start(40)
        self.run_.end(60, "stopped", "asked to")
        self.run_.start(20)
        self.run_.end(60)
        self.follow()
        self.assertEqual(self.kinds(), [(20, "resume"), (60, "ended")])

    def test_a_run_that_ended_where_it_went_back_to_has_nothing_new(self):
        self.run_.steps(1, 30)
        self.run_.end(30)
        self.follow()
        self.run_.cut(20)
        self.assertEqual(self.follow(), "ended")
        self.assertEqual(list(self.target.segments), ["mine"])
        self.assertIn("went back", self.said[-1])

    def test_events_come_with_their_steps_once(self):
        self.run_.hold()
        self.run_.steps(1, 10)
        overflow = {"task": "zoom", "phase": "backward", "from": 8, "to": 4, "left_bytes": 1}
        self.run_.append("metrics.jsonl", metrics_line(11))
        self.run_.append("timing.jsonl", timing_line(11, out_of_memory=[overflow], guard=[{"words": "the floor grew"}]),
                         {"step": 11, "transition": {"from": "warmup", "to": "full", "why": "12 steps"}})
        self.run_.append("metrics.jsonl", {"step": 11, "transition": {}, "jump": {"direction": "forward", "taken": False, "why": "worse"}})
        self.run_.append("weights.jsonl", {"step": 5, "cause": "stage", "name": "second"}, {"step": 8, "cause": "refused edit", "words": "no such task"},
                         {"step": 99, "cause": "due edit"}, {"step": 0, "cause": "end"})
        self.follow([lambda: self.run_.append("weights.jsonl", {"step": 9, "cause": "edit", "words": "late"})])
        self.run_.end(11, "failed", "no memory")
        self.assertEqual(self.follow(), "failed")
        self.assertEqual(self.kinds(), [(5, "stage"), (8, "refused edit"), (11, "out of memory"), (11, "memory"), (11, "phase"), (11, "prediction"),
                                        (9, "edit"), (11, "failed")])
        words = {event.kind: event.words for event in self.target.segments["mine"]["events"]}
        self.assertEqual(words["out of memory"], "zoom backward: goes on with 4 rows at once")
        self.assertEqual(words["phase"], "warmup -> full: 12 steps")
        self.assertEqual(len(self.target.segments["mine"]["file"]), 8)

    def test_shares_are_of_the_stage(self):
        self.run_.append("weights.jsonl", {"step": 4, "cause": "stage", "name": "second"})
        self.run_.steps(1, 8)
        self.run_.end(8)
        self.follow()
        shares = [{name: value for name, value in row.values.items() if name.startswith("share/")} for row in self.target.segments["mine"]["rows"]]
        self.assertEqual(shares[3], {"share/zoom": 0.75, "share/turn": 0.25})
        self.assertEqual(shares[4], {"share/zoom": 1.0})

    def test_sheets_and_scores_of_medley_eval(self):
        self.run_.steps(1, 5)
        self.run_.end(5)
        self.follow()
        (self.run_.path / "sheet-zoom.png").write_bytes(b"\x89PNG one")
        self.run_.write("eval.json", {"step": 5, "tasks": score(0.3)})
        self.follow()
        self.follow()
        self.assertEqual(self.target.segments["mine"]["files"], [("zoom", 5)])
        self.assertEqual(self.target.segments["mine"]["rows"][-1].values["eval/zoom/low"], 0.3 - 0.1)
        self.assertEqual(len(self.target.segments["mine"]["rows"]), 6)
        (self.run_.path / "sheet-zoom.png").write_bytes(b"\x89PNG two")
        self.follow()
        self.assertEqual(self.target.segments["mine"]["files"], [("zoom", 5), ("zoom", 5)])

    def test_what_is_no_picture_of_the_run_does_not_go_along(self):
        self.run_.steps(1, 5)
        self.run_.end(5)
        self.run_.write("eval.json", {"step": 5, "tasks": score(0.3)})
        os.mkfifo(self.run_.path / "sheet-pipe.png")
        (self.run_.path / "sheet-link.png").symlink_to("/etc/passwd")
        (self.run_.path / "sheet-text.png").write_text("no picture")
        (self.run_.path / "sheet-zoom.png").write_bytes(b"\x89PNG one")
        self.follow()
        self.assertEqual(self.target.segments["mine"]["files"], [("zoom", 5)])
        self.assertEqual(sum("does not go along" in words for words in self.said), 3)

    def test_a_tracker_that_is_away_at_the_begin_is_waited_for(self):
        self.run_.hold()
        self.run_.steps(1, 3)
        opens, tries = self.target.open, []

        def away(segment):
            tries.append(segment)
            if len(tries) < 3:
                raise TargetError("nobody answers")
            return opens(segment)

        self.target.open = away
        self.follow([lambda: None] * 4)
        self.assertEqual(self.steps(), [1, 2, 3])

    def test_damaged_lines_are_passed_over_with_a_line_each(self):
        self.run_.steps(1, 2)
        with open(self.run_.path / "metrics.jsonl", "a") as file:
            file.write("\0\0\n[1]\n" + '{"step": -1}\n' + "[" * 5000 + "\n")
        self.run_.append("metrics.jsonl", {"step": 3, "loss": 10**400, "terms": [], "draws": {}, "eval": {"zoom": 1}}, metrics_line(4))
        self.run_.end(4)
        self.follow()
        self.assertEqual(self.dropped, 4)
        self.assertIn("metrics.jsonl:3 is damaged", self.said[0])
        self.assertEqual(self.steps(), [1, 2, 3, 4])
        self.assertEqual(set(self.target.segments["mine"]["rows"][2].values), {"share/zoom"})

    def test_a_run_of_an_older_medley(self):
        for name in ("run.json", "weights.jsonl"):
            (self.run_.path / name).unlink()
        self.run_.append("metrics.jsonl", {"step": 1, "terms": {"zoom": {"error": {"mean": 2.0}}}})
        self.assertEqual(self.follow(), "stopped")
        self.assertEqual(self.target.segments["mine"]["rows"][0].values, {"loss/zoom/error": 2.0})

    def test_a_tracker_that_is_away_is_waited_for(self):
        self.run_.hold()
        self.run_.steps(1, 5)
        self.target.away = 5
        self.follow([lambda: None] * 5)
        self.assertEqual(self.steps(), [1, 2, 3, 4, 5])
        self.assertEqual(sum("trying again" in words for words in self.said), 1)
        self.run_.steps(6, 6)
        self.run_.end(6)
        self.target.away = 5
        with self.assertRaises(TargetError):
            self.follow([lambda: None] * 5)
        self.target.away = 0
        self.follow()
        self.assertEqual(self.steps(), [1, 2, 3, 4, 5, 6])

    def test_two_at_once_are_refused(self):
        what = (str(self.run_.path), "pretended")
        first = state.State(what, self.said.append, self.folder / "state")
        with self.assertRaisesRegex(BadInput, "followed there already"):
            state.State(what, self.said.append, self.folder / "state")
        first.close()

    def test_nothing_is_written_into_the_run(self):
        self.run_.steps(1, 5)
        self.run_.end(5)
        before = {file.name: (file.stat().st_mtime_ns, file.read_bytes()) for file in self.run_.path.iterdir()}
        self.follow()
        self.assertEqual({file.name: (file.stat().st_mtime_ns, file.read_bytes()) for file in self.run_.path.iterdir()}, before)

    def test_a_long_run_is_never_in_memory_whole(self):
        self.run_.steps(1, 3000)
        self.run_.end(3000)
        most = []
        send = self.target.send
        self.target.send = lambda rows, events: (most.append(len(rows)), send(rows, events))
        self.follow()
        self.assertEqual((max(most), sum(most)), (follower_module.BATCH, 3000))
        self.assertEqual(self.steps(), list(range(1, 3001)))

    def test_a_pipe_is_no_log(self):
        os.mkfifo(self.run_.path / "metrics.jsonl")
        with self.assertRaisesRegex(BadInput, "no plain file"):
            list(logs.whole_lines(self.run_.path / "metrics.jsonl"))

    def test_json_is_what_its_schema_says(self):
        self.run_.steps(1, 3)
        self.run_.end(3, how="stopped", why="it was interrupted")
        pretended = type("Mlflow", (Pretended,), {"name": "mlflow", "__init__": lambda self, project: Pretended.__init__(self),
                                                  "require": classmethod(lambda each: None), "folders": lambda self: []})
        with unittest.mock.patch.object(command, "_targets", lambda: {"mlflow": pretended}), \
             unittest.mock.patch.dict(os.environ, {"XDG_STATE_HOME": str(self.folder / "state")}), \
             contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()):
            self.assertEqual(command._follow([str(self.run_.path), "--to", "mlflow", "--json"]), 0)
        printed, schema = json.loads(out.getvalue()), json.loads((SOURCE / "configs/schema/follow-output.schema.json").read_text())
        self.assertEqual(list(printed), list(schema["properties"]))
        self.assertEqual([printed[key] for key in ("to", "name", "state", "steps")], ["mlflow", "run", "stopped", 3])

    def test_names_with_control_characters(self):
        self.assertEqual(printable("a\x1b[2J\n\u202eb\udcff"), "a\\x1b[2J\\x0a\\u202eb\\xff")


class Command(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="medley_follow_")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name).resolve()
        self.run_ = Written(self.folder / "run")

    def medley(self, *words, **environment):
        environment = {**os.environ, "MEDLEY_PYTHON": sys.executable, "XDG_STATE_HOME": str(self.folder / "state"), **environment}
        done = subprocess.run([MEDLEY, "follow", *map(str, words)], cwd=environment.pop("cwd", self.folder), env=environment, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60)
        return done.returncode, done.stdout

    def test_a_package_that_is_missing_is_said_with_what_installs_it(self):
        for package in ("mlflow", "trackio", "wandb"):
            if importlib.util.find_spec(package):
                continue
            code, said = self.medley(self.run_.path, "--to", package)
            self.assertEqual(code, 2, said)
            self.assertIn(f"{sys.executable} -m pip install {package}", said.replace("\n", " "))

    def test_without_python_it_is_said(self):
        code, said = self.medley(self.run_.path, "--to", "mlflow", MEDLEY_PYTHON="/nowhere/python")
        self.assertEqual(code, 2, said)
        self.assertIn("MEDLEY_PYTHON", said)

    def test_what_is_no_run(self):
        (self.folder / "other").mkdir()
        for words, expected in ((("nowhere", "--to", "mlflow"), "nowhere"), (("other", "--to", "mlflow"), "other"),
                                ((self.run_.path, "--to", "excel"), "excel"), ((self.run_.path,), "--to")):
            code, said = self.medley(*words)
            self.assertEqual(code, 2, said)
            self.assertIn(expected, said)

    def test_a_package_that_cannot_be_imported_is_said(self):
        fake = self.folder / "packages/wandb"
        fake.mkdir(parents=True)
        (fake / "__init__.py").write_text("import nothing_of_this_name\n")
        code, said = self.medley(self.run_.path, "--to", "wandb", PYTHONPATH=str(fake.parent))
        self.assertEqual(code, 2, said)
        self.assertIn("nothing_of_this_name", said)

    def test_nothing_is_started_inside_the_run(self):
        fake = self.folder / "packages/wandb"
        fake.mkdir(parents=True)
        (fake / "__init__.py").write_text("")
        code, said = self.medley(self.run_.path, "--to", "wandb", PYTHONPATH=str(fake.parent), cwd=self.run_.path)
        self.assertEqual(code, 2, said)
        self.assertIn("lies in the run", said.replace("\n", " "))
        self.assertEqual(sorted(os.listdir(self.run_.path)), ["config.resolved.json", "run.json", "weights.jsonl"])

    def test_python_m_medley_does_the_same(self):
        environment = {**os.environ, "XDG_STATE_HOME": str(self.folder / "state")}
        done = subprocess.run([sys.executable, str(PACKAGE.parent / "__main__.py"), "follow", self.run_.path], cwd=self.folder, env=environment,
                              text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60)
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertIn("--to", done.stdout)


if __name__ == "__main__":
    unittest.main()
