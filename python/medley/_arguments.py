"""What Session and Mixture take, in the words of the command line."""

import json
import os


def path(value):
    return os.fspath(value)


def paths(values):
    return [path(values)] if isinstance(values, (str, os.PathLike)) else [path(value) for value in values]


def overrides(given):
    """`tasks__zoom__rows=8` or `tasks={"zoom": {"rows": 8}}` is "tasks.zoom.rows=8"."""
    made = []

    def add(key, value):
        if isinstance(value, dict):
            for name, inner in value.items():
                add(f"{key}.{name}", inner)
        elif isinstance(value, os.PathLike):
            made.append(f"{key}={os.fspath(value)}")
        else:
            made.append(f"{key}={value if isinstance(value, str) else json.dumps(value)}")

    for key, value in given.items():
        add(key.replace("__", "."), value)
    return made


def weights_file(given, in_force):
    """The text of a weights file: a dict of one, or of tasks' weights; what it does not say stays as it is in force."""
    if isinstance(given, os.PathLike):
        with open(given, encoding="utf-8") as file:
            return file.read()
    if isinstance(given, str):
        return given
    if not isinstance(given, dict):
        raise TypeError(f"weights are a dict, the text of a weights file or a path, not {type(given).__name__}")
    if not any(key in given for key in ("weights", "stages", "unit", "order")):
        given = {"weights": given}
    now = json.loads(in_force)
    for key, other in (("weights", "stages"), ("stages", "weights")):
        if key in given:
            now.pop(other, None)
    return json.dumps({**now, **given}, indent=2)
