"""MLflow: a run of an experiment. Metrics, the config as parameters, events.jsonl and the sheets as artifacts."""

import os
import re
import urllib.parse

from .target import Target, plain
from .words import BadInput, TargetError

_METRICS = 1000  # of a call, at most
_PARAMETERS = 100
_LONGEST = 6000  # characters of a parameter
_STATUS = {"ended": "FINISHED", "stopped": "KILLED", "failed": "FAILED"}


def _key(name):
    """What MLflow takes: no key of medley's but those with strange names in them is another."""
    return re.sub(r"[^\w/.\- :]", "_", name)[:250]


def _without_password(uri):
    parts = urllib.parse.urlsplit(uri)
    if "@" not in parts.netloc:
        return uri
    return urllib.parse.urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


class MlflowTarget(Target):
    name = "mlflow"
    package = "mlflow"

    def __init__(self, project):
        os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
        os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "3")
        self.project = project or os.environ.get("MLFLOW_EXPERIMENT_NAME") or "medley"
        import mlflow
        from mlflow import entities
        from mlflow.exceptions import MlflowException

        self._entities, self._errors = entities, (MlflowException, OSError)
        self._uri = mlflow.get_tracking_uri()
        if "://" not in self._uri and self._uri != "databricks" or self._uri.startswith("file:"):
            raise BadInput(
                "MLflow's store of files cannot hold both loss/TASK and loss/TASK/TERM; MLFLOW_TRACKING_URI may name a server, or a database: "
                "sqlite:///mlflow.db"
            )
        self._mlflow, self._client = mlflow, None  # which makes a database where none is
        self._run = ""
        self._last = {}  # step by key, of what was there when it was opened

    def place(self):
        return _without_password(self._uri)

    def folders(self):
        path = self._uri.removeprefix("sqlite:///")
        return [os.path.dirname(os.path.abspath(path))] if path != self._uri else []

    def _call(self, act):
        try:
            return act()
        except self._errors as error:
            words = str(error).strip().splitlines() or [type(error).__name__]
            raise TargetError(f"mlflow: {words[0].replace(self._uri, self.place())}") from error

    def open(self, segment):
        return self._call(lambda: self._open(segment))

    def _experiment(self):
        found = self._client.get_experiment_by_name(self.project)
        if found is None:
            return self._client.create_experiment(self.project)
        if found.lifecycle_stage != "active":
            raise BadInput(f"MLflow's experiment {self.project} was deleted; restore it, or --project names another")
        return found.experiment_id

    def _find(self, segment, experiment):
        """Of a process that was killed before it noted the id, too."""
        found = self._client.search_runs([experiment], f"tags.`medley.segment` = '{segment.key}'", max_results=1)
        return found[0] if found else None

    def _open(self, segment):
        self._client = self._client or self._mlflow.MlflowClient(self._uri)
        experiment = self._experiment()
        run, is_new = self._find(segment, experiment), False
        if run is None:
            run, is_new = self._create(segment, experiment), True
        self._run = run.info.run_id
        self._last = {metric.key: metric.step for metric in run.data._metric_objs}
        self._add_config(segment.config, run.data.params)
        if run.info.status != "RUNNING":
            self._client.update_run(self._run, status="RUNNING")
        return self._run, -1 if is_new else None

    def _create(self, segment, experiment):
        tags = {"medley.segment": segment.key, "medley.run": segment.run, "mlflow.note.content": segment.note()}
        if segment.first_id:
            tags.update({"mlflow.parentRunId": segment.first_id, "medley.continues": segment.first_name})
        return self._client.create_run(experiment, start_time=round(1000 * segment.began), tags=tags, run_name=segment.name)

    def _add_config(self, config, there):
        """A parameter never changes in MLflow: what a resume changed is an event."""
        parameter = self._entities.Param
        new = [parameter(_key(name), str(plain(value))[:_LONGEST]) for name, value in config.items() if _key(name) not in there]
        for at in range(0, len(new), _PARAMETERS):
            self._client.log_batch(self._run, params=new[at : at + _PARAMETERS])

    def send(self, rows, events):
        metric = self._entities.Metric
        metrics = []
        for row in rows:
            for name, value in row.values.items():
                key = _key(name)
                if row.step > self._last.get(key, -1):
                    metrics.append(metric(key, value, round(1000 * row.seconds), row.step))
        self._call(lambda: self._send(metrics, events))

    def _send(self, metrics, events):
        for at in range(0, len(metrics), _METRICS):
            self._client.log_batch(self._run, metrics=metrics[at : at + _METRICS])
        if events is not None:
            with open(events, encoding="utf-8") as file:
                self._client.log_text(self._run, file.read(), "events.jsonl")

    def send_scores(self, row):
        metric = self._entities.Metric
        metrics = [metric(_key(name), value, round(1000 * row.seconds), row.step) for name, value in row.values.items()]
        self._call(lambda: self._send(metrics, None))

    def show(self, task, file, step):
        self._call(lambda: self._client.log_artifact(self._run, file, f"sheets/step-{step:08d}"))

    def close(self, how, seconds):
        if how:
            end = None if seconds is None else round(1000 * seconds)
            self._call(lambda: self._client.set_terminated(self._run, _STATUS[how], end))
