"""W&B: a run of a project, with an id of its own. A row a step; events are texts in the row of their step, the sheets images."""

import glob
import os
import struct

from .target import Target, plain
from .words import BadInput, TargetError, Unreadable

_BLOCK, _HEADER = 1 << 15, 7  # of its offline files, which are logs of LevelDB's form
_TAIL = 128 * _BLOCK
_FULL, _FIRST, _LAST = 1, 2, 4


def _records(data, at):
    """Whole records of blocks; what began before them, or is cut, is passed over."""
    part = None
    while at + _HEADER <= len(data):
        if _BLOCK - at % _BLOCK < _HEADER:
            at += _BLOCK - at % _BLOCK
            continue
        size, kind = struct.unpack_from("<HB", data, at + 4)
        body = data[at + _HEADER : at + _HEADER + size]
        if kind == 0 or len(body) < size:
            return
        at += _HEADER + size
        part = body if kind in (_FULL, _FIRST) else None if part is None else part + body
        if kind in (_FULL, _LAST) and part is not None:
            yield part


def _last_step(file):
    """Of the rows that an offline file has; -1 without any."""
    from wandb.proto import wandb_internal_pb2

    with open(file, "rb") as opened:
        begin = max(0, os.fstat(opened.fileno()).st_size - _TAIL) // _BLOCK * _BLOCK
        opened.seek(begin)
        data = opened.read()
    last = -1
    for text in _records(data, 0 if begin else _HEADER):  # a file begins with a header of its own
        record = wandb_internal_pb2.Record()
        try:
            record.ParseFromString(text)
        except Exception:  # of a later wandb, or damaged
            continue
        if record.HasField("history"):
            last = max(last, record.history.step.num)
    return last


class WandbTarget(Target):
    name = "wandb"
    package = "wandb"

    def __init__(self, project):
        os.environ.setdefault("WANDB_ERROR_REPORTING", "false")
        self.project = project or os.environ.get("WANDB_PROJECT") or "medley"
        mode = os.environ.get("WANDB_MODE", "")
        if mode == "disabled":
            raise BadInput("WANDB_MODE is disabled, and nothing would be sent; online or offline")
        import wandb

        self._wandb, self._run = wandb, None
        self._is_offline = mode in ("offline", "dryrun")
        self._step = -1

    def place(self):
        if self._is_offline:
            return os.path.join(self._folder(), "wandb")
        return " ".join(filter(None, (os.environ.get("WANDB_BASE_URL", "https://api.wandb.ai"), os.environ.get("WANDB_ENTITY"))))

    def _folder(self):
        return os.path.abspath(os.environ.get("WANDB_DIR") or ".")

    def folders(self):
        return [self._folder()]

    def _call(self, act):
        try:
            return act()
        except Exception as error:
            raise TargetError(f"wandb: {error}") from error

    def open(self, segment):
        return self._call(lambda: self._open(segment))

    def _open(self, segment):
        wandb = self._wandb
        settings = wandb.Settings(  # of the process that trains nothing of it would be true
            console="off", x_disable_stats=True, x_disable_meta=True, x_disable_machine_info=True, disable_git=True, disable_code=True,
            x_save_requirements=False,
        )
        before = self._last_offline(segment.key)
        self._run = wandb.init(
            project=self.project, name=segment.name, id=segment.key, resume="allow", group=segment.first_name, notes=segment.note(),
            tags=["medley"] if segment.number == 1 else ["medley", "went-back"], settings=settings,
            config={name: plain(value) for name, value in segment.config.items()}, allow_val_change=True,
        )
        self._step = max(self._run.starting_step - 1, before if self._run.offline else -1)
        return segment.key, self._step

    def _last_offline(self, key):
        """Each call that went on has a folder, and none says so to the next."""
        files = glob.glob(os.path.join(glob.escape(self._folder()), "wandb", f"offline-run-*-{key}", f"run-{key}.wandb"))
        return max(map(_last_step, files), default=-1)

    def _log(self, found, step, seconds):
        self._step = max(self._step, step)  # it never goes back
        if seconds is not None:
            found["_timestamp"] = seconds
        self._run.log(found, step=self._step)

    def send(self, rows, events):
        self._call(lambda: self._send(rows))

    def _send(self, rows):
        for row in rows:
            found = dict(row.values)
            for event in row.events:
                words = found.get(f"event/{event.kind}")
                late = "" if event.step == row.step else f" (after step {event.step})"
                found[f"event/{event.kind}"] = (f"{words}; " if words else "") + event.words + late
            if found:
                self._log(found, row.step, row.seconds)

    def send_scores(self, row):
        self._call(lambda: self._log(dict(row.values), row.step, row.seconds))

    def show(self, task, file, step):
        try:
            picture = self._wandb.Image(file, caption=f"step {step}")
        except Exception as error:  # also without Pillow
            raise Unreadable(str(error)) from error
        self._call(lambda: self._log({f"sheet/{task}": picture}, step, None))

    def close(self, how, seconds):
        if self._run is not None:
            self._call(lambda: self._run.finish(exit_code=1 if how == "failed" else 0))
