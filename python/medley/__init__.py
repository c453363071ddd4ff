"""medley trains one model on a medley of tasks: tasks, runs and mixtures in Python.

Rows are made in numpy, losses in torch; the rest is medley's C++.
"""

import sys

if sys.argv[:1] == ["-m"] and "medley" in sys.orig_argv[sys.orig_argv.index("-m") + 1 :][:1]:
    from medley import __main__  # noqa: F401  (python -m medley: another program takes over, before anything else is imported)

from medley import _environment  # noqa: E402

_environment.check()

# Behind torch, whose libraries they take.
from medley import _glue, _medley  # noqa: E402, F401
from medley._build import VERSION as __version__  # noqa: E402
from medley.rows import Rows, site  # noqa: E402
from medley.task import Answer, Figure, Generated, Outcomes, Padded, Ragged, RaggedColumn, Task, TaskContext  # noqa: E402

Error = _medley.Error
Context = _medley.Context
EvalContext = _medley.EvalContext

from medley.mixture import Draw, Mixture  # noqa: E402
from medley.session import Session  # noqa: E402

__all__ = [
    "Answer",
    "Context",
    "Draw",
    "Error",
    "EvalContext",
    "Figure",
    "Generated",
    "Mixture",
    "Outcomes",
    "Padded",
    "Ragged",
    "RaggedColumn",
    "Rows",
    "Session",
    "Task",
    "TaskContext",
    "site",
    "__version__",
]
