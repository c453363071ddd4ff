"""medley trains one model on a medley of tasks: tasks, runs and mixtures in Python.

Rows are made in numpy, losses in torch; the rest is medley's C++.
"""

from medley import _environment

_environment.check()

from medley import _medley  # noqa: E402  (behind torch, whose libraries it takes)
from medley._build import VERSION as __version__  # noqa: E402

Error = _medley.Error

__all__ = ["Error", "__version__"]
