"""What a run shows while it trains."""

import sys
import time

_KINDS = ("said", "warning", "status")
_PLAIN_SECONDS = 10


def shown_by(progress):
    """The callable (number, text) that medley tells, or None."""
    if progress is False or progress is None:
        return None
    show = _Screen() if progress is True else progress
    return lambda kind, text: show(_KINDS[kind], text)


def _notebook():
    """IPython's display, where this is the kernel of a notebook."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return ipython.display if shell is not None and type(shell).__name__ == "ZMQInteractiveShell" else None


class _Screen:
    """Lines that stay, and one status line: repainted on a terminal and in a notebook, else a plain line every ten seconds."""

    def __init__(self):
        self._display = _notebook()
        self._handle = None
        self._is_painted = False
        self._last = time.monotonic()

    def __call__(self, kind, text):
        if kind == "status":
            return self._paint(text)
        self._clear()
        print(("warning: " if kind == "warning" else "") + text, flush=True)

    def _paint(self, text):
        if self._display is not None:
            pretty = {"text/plain": text}
            if self._handle is None:
                self._handle = self._display.display(pretty, raw=True, display_id=True)
            else:
                self._handle.update(pretty, raw=True)
        elif sys.stdout.isatty():
            print("\r" + text[:99] + "\x1b[K", end="", flush=True)
            self._is_painted = True
        elif time.monotonic() - self._last >= _PLAIN_SECONDS:
            self._last = time.monotonic()
            print(text, flush=True)

    def _clear(self):
        self._handle = None  # the next status stands below what was said
        if self._is_painted:
            print("\r\x1b[K", end="")
            self._is_painted = False
