"""python -m medley VERB ...: the medley command, with this interpreter for tasks in Python."""

import os
import sys


def _program():
    package = os.path.dirname(os.path.abspath(__file__))
    places = (os.path.join(package, "bin"), os.path.join(package, "../../../../bin"))  # of a wheel; of a tree
    return next((os.path.normpath(place) for place in (os.path.join(at, "medley") for at in places) if os.access(place, os.X_OK)), None)


program = _program()
if program is None:
    sys.exit("medley: the program medley is not beside this package; is the installation complete?")
os.environ["MEDLEY_PYTHON"] = sys.executable
os.execv(program, ["medley", *sys.argv[1:]])
