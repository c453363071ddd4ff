"""A process that makes rows for a run: see _workers.py. No part of the package."""

import os
import pickle
import sys
import threading
import time


def _end_with(parent):
    """Where the run is killed while rows are made here, nobody closes the pipe that is not read."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(0)


def _answer(glue, tasks, message):
    what, key, *more = message
    if what == "load":
        file, pickled = more
        glue.load(*file)
        tasks[key] = pickle.loads(pickled)
        return None
    return glue.packed_parts(tasks[key], *more)


def main(parent):
    asked, told = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)  # what a task prints
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    sys.path[:] = pickle.load(asked)
    import torch
    from medley import _glue

    torch.set_num_threads(1)
    own, tasks = os.getpid(), {}
    while True:
        try:
            message = pickle.load(asked)
        except EOFError:
            os._exit(0)
        try:
            answer = (True, _answer(_glue, tasks, message))
        except BaseException as error:
            answer = (False, _glue.words(error, error.__traceback__))
        if os.getpid() != own:
            os._exit(1)  # a task forked, and this is its child
        pickle.dump(answer, told, protocol=5)
        told.flush()


if __name__ == "__main__":
    main(int(sys.argv[1]))
