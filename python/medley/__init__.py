"""medley trains one model on a medley of tasks: tasks, runs and mixtures in Python.

Rows are made in numpy, losses in torch; the rest is medley's C++.
"""

from medley import _environment

_environment.check()

# Behind torch, whose libraries they take.
from medley import _glue, _medley  # noqa: E402, F401
from medley._build import VERSION as __version__  # noqa: E402
from medley.rows import Rows, site  # noqa: E402
from medley.task import Answer, Figure, Generated, Outcomes, Padded, Ragged, RaggedColumn, Task, TaskContext  # noqa: E402

Error = _medley.Error
Context = _medley.Context
EvalContext = _medley.EvalContext

__all__ = [
    "Answer",
    "Context",
    "Error",
    "EvalContext",
    "Figure",
    "Generated",
    "Outcomes",
    "Padded",
    "Ragged",
    "RaggedColumn",
    "Rows",
    "Task",
    "TaskContext",
    "site",
    "__version__",
]
