"""What the verb `follow` becomes: python _follow RUN --to TARGET. The package around it, which needs torch, stays unimported."""

import importlib.util
import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))


def load():
    """The folder as a package of its own, medley_follow; nothing else of it is importable by a name that a tracker could mean."""
    sys.path[:] = [path for path in sys.path if os.path.abspath(path) not in (_HERE, os.path.dirname(_HERE))]
    spec = importlib.util.spec_from_file_location("medley_follow", os.path.join(_HERE, "__init__.py"), submodule_search_locations=[_HERE])
    sys.modules["medley_follow"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sys.modules["medley_follow"])


if __name__ == "__main__":
    load()
    from medley_follow import command

    command.end(sys.argv[1:])
