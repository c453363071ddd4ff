"""Rows in processes of their own. Tasks in Python share one lock in one process, so that data threads alone gain nothing; with
data.processes each thread that samples has a process that makes the rows for it. Rows are functions of their numbers, so it
changes none of them."""

import os
import pickle
import signal
import subprocess
import sys
import threading
import weakref

from medley import _medley

_HERE = os.path.dirname(os.path.abspath(__file__))

in_processes = False
tokenizer = ("", {})  # its file, and what its special tokens are called
_lock = threading.RLock()  # a finalizer may come while it is held
_sent = {}  # what a process needs of a task, by the task's id
_idle = []
_keys = 0


def set_sampling(on, tokenizer_file, special_tokens):
    """Of the run that begins: its tasks are made after this."""
    global in_processes, tokenizer
    in_processes, tokenizer = on, (tokenizer_file, dict(special_tokens))


class _Ended(Exception):
    """A process is there no more."""


class _Worker:
    """A process of this interpreter, with this one's sys.path. It hears of no signal of the terminal, and ends with the pipe."""

    def __init__(self):
        self.known = set()
        self._process = subprocess.Popen(
            [sys.executable, "-I", os.path.join(_HERE, "_worker.py"), str(os.getpid())],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True,
        )
        self._send(sys.path)

    def _send(self, message):
        pickle.dump(message, self._process.stdin, protocol=5)
        self._process.stdin.flush()

    def ask(self, *message):
        try:
            self._send(message)
            return pickle.load(self._process.stdout)
        except (EOFError, OSError, pickle.UnpicklingError) as error:
            raise _Ended(self._end()) from error

    def _end(self):
        try:
            code = self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return "wrote what medley did not ask for"
        if code >= 0:
            return f"ended with exit code {code}"
        return f"was ended by {signal.Signals(-code).name}" + (" (out of memory?)" if code == -signal.SIGKILL else "")

    def close(self):
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()


class _Sent:
    def __init__(self, key, file, pickled):
        self.key, self.file, self.pickled = key, file, pickled


def take(task, file):
    """From now on processes make the rows of this task, whose class came from `file` (see _glue.load). Returns why not, else None."""
    global _keys
    try:
        pickled = pickle.dumps(task, protocol=5)
    except Exception as error:  # whatever a __reduce__ throws
        return str(error)
    with _lock:
        _keys += 1
        _sent[id(task)] = _Sent(_keys, file, pickled)
    weakref.finalize(task, _forget, id(task))
    return None


def takes(task):
    return id(task) in _sent


def _forget(task_id):
    with _lock:
        del _sent[task_id]
        ended = [] if _sent else _idle[:]
        if ended:
            _idle.clear()
    for worker in ended:
        worker.close()


def _answer(worker, *message):
    ok, made = worker.ask(*message)
    if not ok:
        raise _medley.Error(made)
    return made


def _load(worker, task, sent, rows, here):
    """Lets a worker know the task. A row of it must be the one that is made here: texts' hashes, a set's order and what a module
    has counted differ between processes."""
    _answer(worker, "load", sent.key, sent.file, sent.pickled)
    one = rows.part(0, 1)
    if _answer(worker, "sample", sent.key, one) != here(task, one):
        raise _medley.Error(
            f"row {one.begin} is another in a process of its own (data.processes) than in the run's: it depends on what differs between "
            "processes (hash of a text, the order of a set, what a module has counted); make a row from rows.seed and its number alone"
        )
    worker.known.add(sent.key)


def sample(task, rows, here):
    """What `here` gives of these rows, made by a process."""
    sent = _sent[id(task)]
    with _lock:
        worker = _idle.pop() if _idle else None
    worker = worker or _Worker()
    try:
        if sent.key not in worker.known:
            _load(worker, task, sent, rows, here)
        made = _answer(worker, "sample", sent.key, rows)
    except _Ended as ended:
        raise _medley.Error(f"the process that made its rows {rows.begin}..{rows.begin + rows.count - 1} (data.processes) {ended}") from None
    except _medley.Error:
        worker.close()
        raise
    with _lock:
        _idle.append(worker)
    return made
