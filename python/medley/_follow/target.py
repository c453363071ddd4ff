"""What a tracker is to medley follow."""

import importlib
import importlib.util
import sys
from typing import NamedTuple

from .words import BadInput


class Segment(NamedTuple):
    """A run as a tracker has it, or what became of it once it went back."""

    key: str  # no other segment's, anywhere
    name: str
    id: str  # that the tracker gave it; "": it is new
    number: int  # from 1
    first_name: str
    first_id: str
    config: dict  # flat
    run: str  # its directory
    began: float  # seconds since 1970
    is_known: bool  # to be this run's by what was noted here

    def note(self):
        went_back = f"{self.first_name} up to where the run went back, and here all of it as it went on" if self.number > 1 else ""
        return f"medley, {self.run}" + (f". Continues {went_back}" if went_back else "")


class Target:
    """One tracker. `open` first; what is sent twice with the same step is there once, as far as the tracker can do that."""

    name = ""
    package = ""

    @classmethod
    def require(cls):
        """A BadInput where the interpreter has no such package."""
        if importlib.util.find_spec(cls.package) is None:
            raise BadInput(
                f"{sys.executable} has no {cls.package}. Install it there: {sys.executable} -m pip install {cls.package}; or MEDLEY_PYTHON "
                "names an interpreter that has it"
            )
        try:
            return importlib.import_module(cls.package)
        except ImportError as error:
            raise BadInput(f"{sys.executable} cannot import {cls.package}: {error}") from error

    def place(self):
        """Where it sends, without a secret: a text that tells two of them apart."""
        raise NotImplementedError

    def folders(self):
        """Where it writes on this machine, beside the working directory."""
        return []

    def open(self, segment):
        """(its id there, the last step that it has). The step is -1 where it has none, None where what was noted here holds."""
        raise NotImplementedError

    def send(self, rows, events):
        """Rows in the order of their steps, which do not go down from call to call. `events`: a file with all events so far, a line of JSON each;
        None where the rows have none."""
        raise NotImplementedError

    def send_scores(self, row):
        """Those of medley eval: of a step that may have been sent."""
        raise NotImplementedError

    def show(self, task, file, step):
        """A picture. Unreadable where it is none."""
        raise NotImplementedError

    def close(self, how, seconds):
        """How the run ended: "ended", "stopped", "failed", or "" where it goes on."""
        raise NotImplementedError


def plain(value):
    """Of a config, as a tracker can show it."""
    return value if isinstance(value, (str, int, float, bool)) else repr(value)
