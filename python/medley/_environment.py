"""What medley needs of the Python that it runs in, looked at before anything of it is loaded."""

import importlib.util
import os
import re
import sys

from medley._build import TORCH


def _refuse(words):
    raise ImportError("medley: " + words)


def _release(file):
    with open(file, encoding="utf-8") as text:
        found = re.search(r"""^__version__ = ['"]([^'"+]+)""", text.read(), re.MULTILINE)
    return found.group(1) if found else "unknown"


def _check_torch():
    """Another release would end in an undefined symbol: its version is read first."""
    spec = importlib.util.find_spec("torch")
    if spec is None:
        _refuse(f"{sys.executable} has no torch; it needs torch {TORCH}: {sys.executable} -m pip install torch=={TORCH}")
    if not spec.submodule_search_locations:
        _refuse(f"torch would be imported from {spec.origin}, which is not PyTorch; rename that file, or start Python elsewhere")
    version = os.path.join(list(spec.submodule_search_locations)[0], "version.py")
    if not os.path.isfile(version):
        _refuse(f"torch would be imported from {os.path.dirname(version)}, which is not PyTorch; rename it, or start Python elsewhere")
    found = _release(version)
    if found != TORCH:
        _refuse(
            f"this medley was built for torch {TORCH}, and {os.path.dirname(version)} is {found}. Install that one in a "
            f"virtual environment of its own: {sys.executable} -m pip install torch=={TORCH}"
        )
    try:
        import torch  # noqa: F401
    except (ImportError, OSError) as error:
        _refuse(
            f"torch {TORCH} cannot be imported: {error}. Its CUDA build needs all of its NVIDIA packages, also where no GPU "
            f"is: {sys.executable} -m pip install torch=={TORCH}"
        )


def _check_numpy():
    if importlib.util.find_spec("numpy") is None:
        _refuse(f"{sys.executable} has no numpy, in which rows are made: {sys.executable} -m pip install numpy")


def check():
    """An ImportError that says what to do."""
    _check_numpy()
    _check_torch()
