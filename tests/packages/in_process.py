"""Scripts of this folder in the process of another one: importing the packages takes some 4 s of CPU a process."""

import pathlib
import runpy
import sys


def run(script, *arguments):
    """Ends the process, as the script would its own, where it finds something wrong."""
    others = sys.argv
    sys.argv = [str(pathlib.Path(__file__).with_name(script)), *map(str, arguments)]
    try:
        runpy.run_path(sys.argv[0], run_name="__main__")
    finally:
        sys.argv = others
