"""The command line, signals and exit codes of medley follow."""

import argparse
import json
import os
import signal
import sys

from . import follower
from .run_files import RunFiles
from .state import State, directory
from .words import BadInput, Failed, TargetError, printable, say

DONE, FAILED, BAD_INPUT, SOMETHING_DROPPED, INTERRUPTED = 0, 1, 2, 3, 130
_STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Stopped(BaseException):
    """A signal asked for an end."""


def _targets():
    from .to_mlflow import MlflowTarget
    from .to_trackio import TrackioTarget
    from .to_wandb import WandbTarget

    return {target.name: target for target in (MlflowTarget, TrackioTarget, WandbTarget)}


def _arguments(words):
    parser = argparse.ArgumentParser(prog="medley follow", add_help=False, allow_abbrev=False)
    parser.add_argument("run")
    parser.add_argument("--to", required=True, choices=("mlflow", "trackio", "wandb"))
    parser.add_argument("--project")
    parser.add_argument("--name")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args(words)


def _handle_signals():
    """The verb left them blocked until now. The second one ends the process at once."""

    def stop(number, frame):
        for each in _STOPS:
            signal.signal(each, signal.SIG_DFL)
        raise Stopped

    for each in _STOPS:
        if signal.getsignal(each) is not signal.SIG_IGN or each is signal.SIGINT:
            signal.signal(each, stop)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {*_STOPS, signal.SIGUSR1, signal.SIGUSR2})


def _json(run, following):
    """As configs/schema/follow-output.schema.json says."""
    return json.dumps({
        "run": printable(run.path), "to": following.target.name, "place": printable(following.target.place()), "project": following.target.project,
        "name": following.segment_name, "state": following.how, "steps": following.sent_rows, "events": following.sent_events,
        "sheets": following.sent_sheets, "unreadable": following.dropped,
    })


def _count(number, what):
    return f"{number} {what}" + ("" if number == 1 else "s")


def _sent(following):
    counts = (following.sent_rows, "step"), (following.sent_events, "event"), (following.sent_sheets, "sheet")
    return ", ".join(_count(number, what) for number, what in counts) + f" to {following.target.name}, as {printable(following.segment_name)}"


def _follow(words):
    given = _arguments(words)
    run = RunFiles(os.path.realpath(given.run))
    follower.refuse_folders_in(run.path, [".", directory()])  # before a tracker is imported, which may write there
    target_class = _targets()[given.to]
    target_class.require()
    target = target_class(given.project)
    follower.refuse_folders_in(run.path, target.folders())
    name = given.name or os.path.basename(run.path)
    if printable(name) != name:
        raise BadInput(f"'{printable(name)}' cannot be the name of a run there; --name gives another")
    state = State((run.path, given.to, target.place(), target.project, name), say)
    say(f"sending {printable(run.path)} to {given.to}: {printable(target.place())}, project {printable(target.project)}")
    following = follower.Follower(run, target, state, name)
    try:
        how = following.follow()
    except Stopped:
        say("stopped; the same command goes on from here")
        following.leave()
        return INTERRUPTED
    print(_json(run, following) if given.json else f"sent {_sent(following)}; the run {'is over' if how == 'ended' else how}")
    if following.dropped:
        say(f"{_count(following.dropped, 'line')} of metrics.jsonl could not be read, and did not go along")
    return SOMETHING_DROPPED if following.dropped else DONE


def main(words):
    _handle_signals()
    try:
        return _follow(words)
    except Stopped:
        say("stopped; the same command goes on from here")
        return INTERRUPTED
    except BadInput as error:
        say(str(error))
        return BAD_INPUT
    except TargetError as error:
        say(f"{printable(error).rstrip('.')}. What came through is noted; the same command goes on from there")
    except (Failed, RecursionError) as error:
        say(str(error))
    except OSError as error:
        where = error.filename or directory()  # a write has no name, and only notes are written
        say(f"{printable(where)}: {error.strerror or error}. What came through is noted; the same command goes on from there")
        return BAD_INPUT if isinstance(error, (PermissionError, NotADirectoryError, IsADirectoryError)) else FAILED
    return FAILED


def end(words):
    """Of the process: what threads of a tracker still do is not waited for, as it is closed by then."""
    code = main(words)
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:
        code = code or FAILED
    os._exit(code)
