"""The medley command in this interpreter: what it becomes where a run names a task in Python. No part of the package."""

import os
import signal
import sys

_PACKAGE = os.path.dirname(os.path.abspath(__file__))


def _prepare_path():
    """Nothing of the working directory, and nothing of this folder by a name of its own, is imported."""
    root = os.path.dirname(_PACKAGE)
    if not getattr(sys.flags, "safe_path", False) and sys.path:
        del sys.path[0]  # this script's
    if root not in (os.path.abspath(path) for path in sys.path if path):
        sys.path.append(root)  # of a build tree, or of another interpreter


def _fail(words):
    print("medley: " + words, file=sys.stderr, flush=True)
    os._exit(1)


def main(words):
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # until the verb has its own
    _prepare_path()
    sys.argv = ["medley", *words]
    sys.stdout.reconfigure(line_buffering=True)  # what a task prints is not lost, as the process ends at once
    try:
        import medley
    except ImportError as error:
        _fail(str(error).removeprefix("medley: "))
    if os.path.dirname(os.path.abspath(medley.__file__)) != _PACKAGE:
        _fail(f"{sys.executable} would take the package medley of {os.path.dirname(medley.__file__)}, and this is that of {_PACKAGE}")
    sys.setswitchinterval(0.0005)  # a pass waits for the GIL beside rows that are made in Python
    medley._medley.run_verb(words)


if __name__ == "__main__":
    main(sys.argv[1:])
