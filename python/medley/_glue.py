"""What medley's C++ calls: files become classes, results become tensors, exceptions words."""

import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import sys
import sysconfig
import traceback
import types

import numpy as np
import torch

from medley import _medley, _workers, task as _task
from medley.rows import Rows as rows  # noqa: F401  (called from C++)
from medley.task import Figure, Generated, Options, Outcomes, Padded, Ragged, RaggedColumn, Task, TaskContext

_OWN = os.path.dirname(os.path.abspath(__file__)) + os.sep
_OWN_SOURCES = os.path.dirname(os.path.realpath(__file__)) + os.sep  # a build tree has links
_STANDARD = tuple(os.path.realpath(sysconfig.get_path(name)) + os.sep for name in ("stdlib", "platstdlib"))

ragged_column = RaggedColumn
generated = Generated
device = torch.device


def _shown(path):
    """Below the working directory relative to it, as the command says paths."""
    try:
        here = os.getcwd() + os.sep
    except OSError:
        return path
    return path[len(here) :] if path.startswith(here) else path


def _is_authors(frame):
    file = frame.filename
    if file.startswith("<") or "site-packages" in file or "dist-packages" in file:
        return False
    return not os.path.realpath(file).startswith(_STANDARD)


def _is_own(frame):
    return frame.filename.startswith((_OWN, _OWN_SOURCES))


def _said(error):
    if isinstance(error, SystemExit):
        return f"SystemExit: {error.code}. A task may not end the process"
    said = "".join(traceback.format_exception_only(type(error), error)).strip()
    if isinstance(error, _medley.Error):
        said = str(error)
    return said


def words(error, trace):
    """An exception in words: FILE:LINE, what, and the innermost frames, the author's own where there are any."""
    said = _said(error)
    if isinstance(error, SyntaxError) and error.filename:
        return f"{_shown(error.filename)}:{error.lineno}: SyntaxError: {error.msg}"
    if isinstance(error, _medley.Error) and said.startswith("plugin '"):
        return said  # of a call into the task that came through medley: it has its place
    frames = [frame for frame in traceback.extract_tb(trace) if not _is_own(frame)]
    frames = [frame for frame in frames if _is_authors(frame)] or frames
    if not frames:
        return said
    lines = "".join(f"\n  in {f.name}, {_shown(f.filename)}:{f.lineno}: {f.line}" for f in reversed(frames[-3:]))
    return f"{_shown(frames[-1].filename)}:{frames[-1].lineno}: {said}{lines}"


class _SourceLoader(importlib.machinery.SourceFileLoader):
    """Of a text that was read: what Python has compiled of the file before is nobody's business."""

    def get_code(self, fullname):
        path = self.get_filename(fullname)
        return compile(_beside.texts[path], path, "exec", dont_inherit=True)


class _Beside(importlib.abc.MetaPathFinder):
    """Finds the modules that lie beside plugins and that medley has read, where nobody else has one of that name."""

    def __init__(self):
        self.files, self.texts = {}, {}

    def find_spec(self, fullname, path=None, target=None):
        file = self.files.get(fullname)
        if file is None:
            return None
        # A package's other modules are found here too, so it has no folder of its own to look into.
        folders = [] if os.path.basename(file) == "__init__.py" else None
        return importlib.util.spec_from_file_location(
            fullname, file, loader=_SourceLoader(fullname, file), submodule_search_locations=folders
        )


_beside = _Beside()


def _module_name(file, folder):
    parts = os.path.relpath(file, folder)[: -len(".py")].split(os.sep)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _require_alone(name, file):
    """What runs must be what was read: a module that Python finds before it would be another."""
    first = name.split(".")[0]
    if first in _beside.files:
        return
    try:
        found = importlib.util.find_spec(first)
    except ValueError:  # a module that somebody made by hand
        found = sys.modules[first]
    if found is None:
        return
    origin = getattr(found, "origin", None) or first
    if os.path.realpath(str(origin)) != os.path.realpath(file):
        raise _medley.Error(f"{_shown(file)} is hidden by the module '{first}' of {origin}, which Python finds first; rename it")


def _offer(plugin, files):
    """Lets the plugin import these; a name that another plugin has given to a module of its own is refused."""
    folder = os.path.dirname(plugin)
    for file in files:
        name = _module_name(file, folder)
        other = _beside.files.get(name, file)
        if other != file:
            raise _medley.Error(f"{file} and {other} are both called '{name}' in this process; rename one of them")
        if name not in _beside.files:
            _require_alone(name, file)
        elif _beside.texts[file] != files[file]:  # edited since
            sys.modules.pop(name, None)
        _beside.files[name], _beside.texts[file] = file, files[file]
    if _beside not in sys.meta_path:
        sys.meta_path.append(_beside)


def _plain(value):
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return value


def _same(a, b):
    if type(a) is not type(b):
        return False
    if isinstance(a, list):
        return len(a) == len(b) and all(map(_same, a, b))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(_same(a[key], b[key]) for key in a)
    return a == b


def _class_of(spec, module, path):
    name = spec["name"]
    found = [
        value
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, Task) and isinstance(getattr(value, "spec", None), dict)
    ]
    named = [value for value in found if value.spec.get("name") == name and "spec" in vars(value)]
    if not named:
        raise _medley.Error(f"{_shown(path)}: no class of it that derives from medley.Task has the spec of '{name}'")
    if not _same(_plain(named[0].spec), spec):
        raise _medley.Error(
            f"{_shown(path)}: the spec of '{name}' is changed after it is made, and medley has read it as it stands there"
        )
    return named[0]


_files = {}  # what `load` was given, by the class that came of it


def _free_name(path):
    name = "medley_plugin_" + os.path.splitext(os.path.basename(path))[0]
    while name in sys.modules:
        name += "_"
    return name


def load(path, source, note, beside, name=None):
    """The classes of a file, one for each spec that medley has read in it. `beside`: the texts of the modules that it
    imports, by file; `name`: of the module, as another process has it."""
    if name in sys.modules:
        return None  # in a process that makes rows, for another task of the file
    _offer(path, beside)
    name = name or _free_name(path)
    module = types.ModuleType(name)
    module.__file__ = path
    sys.modules[name] = module
    try:
        exec(compile(source, path, "exec", dont_inherit=True), module.__dict__)
        classes = [_class_of(spec, module, path) for spec in json.loads(note)["tasks"]]
    except ModuleNotFoundError as error:
        del sys.modules[name]
        missing = (error.name or "").split(".")[0]
        if os.path.exists(os.path.join(os.path.dirname(path), missing + ".py")):
            error.msg += f": medley reads in the file what it imports; write `import {missing}` there"
            error.args = (error.msg,)
        raise
    except BaseException:
        del sys.modules[name]
        raise
    _files.update((cls, (path, source, note, beside, name)) for cls in classes)
    return classes


def _require_methods(cls):
    needed = {"sample": "(self, rows)", "run": "(self, name, context)"}
    if cls.spec.get("constants"):
        needed["constant"] = "(self, name)"
    for name, arguments in needed.items():
        if getattr(cls, name) is getattr(Task, name):
            raise _medley.Error(f"{cls.__name__} needs {name}{arguments}")
    if cls.score is Task.score and cls.evaluate is Task.evaluate:
        raise _medley.Error(f"{cls.__name__} needs score(self, context), or evaluate(self, context, rows)")


def make(cls, context):
    """A task, and whether it evaluates by itself."""
    _require_methods(cls)
    made = cls(TaskContext(context))
    spec = cls.spec
    for variant in spec.get("variants", ()):
        if variant["name"] == context.variant:
            spec = variant
    made._terms = [term["name"] for term in spec["terms"]]
    if _workers.in_processes:
        why = _workers.take(made, _files[cls])
        if why is not None:
            context.say(f"data.processes: its rows are made in the run's process, as {cls.__name__} cannot be sent to another: {why}")
    return made, cls.evaluate is not Task.evaluate


def _tensor(value, what):
    if issubclass(type(value), torch.Tensor):
        return value
    if isinstance(value, np.generic):
        value = np.asarray(value)
    if not isinstance(value, np.ndarray):
        raise TypeError(f"{what} is of {type(value).__name__}; it should be of numpy or torch")
    if not value.flags.writeable or not value.flags.c_contiguous:
        value = np.array(value, order="C")  # torch warns of what it may not write to
    try:
        return torch.from_numpy(value)
    except TypeError as error:
        raise TypeError(f"{what} is an array of {value.dtype}, which torch has no type for") from error


def _integers(values):
    return [int(value) for value in values]


set_sampling = _workers.set_sampling


def sample(task, rows):
    """(kind, name, ...) of all that the rows are made of, by this process or another."""
    if not _workers.takes(task):
        return parts(task, rows)
    return [tuple(map(_unpacked, part)) for part in _workers.sample(task, rows, packed_parts)]


def _packed(value):
    """A tensor as its type, sizes and bytes, which can be sent and compared."""
    if not isinstance(value, torch.Tensor):
        return value
    value = value.detach().contiguous()
    if value.device.type != "cpu":
        raise TypeError(f"a column lies on {value.device}; sample makes rows on the CPU")
    return value.dtype, tuple(value.shape), value.view(-1).view(torch.uint8).numpy().tobytes()


def _unpacked(value):
    if not isinstance(value, tuple):
        return value
    dtype, shape, data = value
    return torch.frombuffer(bytearray(data), dtype=dtype).view(shape) if data else torch.empty(shape, dtype=dtype)


def packed_parts(task, rows):
    return [tuple(map(_packed, part)) for part in parts(task, rows)]


def parts(task, rows):
    """The same by this process."""
    made = task.sample(rows)
    if not isinstance(made, dict):
        raise TypeError(f"sample returned {type(made).__name__}; it returns {{name: column}}")
    terms, found = set(task._terms), []
    for name, value in made.items():
        if name in terms:
            items = _tensor(value, f"items of the term '{name}'")
            if items.dim() != 1:
                raise TypeError(f"'{name}' is a term of the spec, so sample's '{name}' is its items, [rows] whole numbers; call the column otherwise")
            found.append(("items", name, items))
            terms.discard(name)
        elif isinstance(value, Padded):
            values = _tensor(value.values, f"the column '{name}'")
            found.append(("padded", name, values, _integers(value.counts), int(value.width), int(value.pad)))
        elif isinstance(value, Ragged):
            found.append(("ragged", name, _tensor(value.values, f"the column '{name}'"), _integers(value.counts)))
        else:
            found.append(("column", name, _tensor(value, f"the column '{name}'")))
    found += [("each", name) for name in sorted(terms)]
    return found


def _numbers(value, what):
    return _tensor(np.asarray(value, dtype=np.float64) if isinstance(value, (list, tuple)) else value, what)


def score(task, context):
    return _numbers(task.score(context), "the score")


def evaluate(task, context, rows):
    made = task.evaluate(context, rows)
    if not isinstance(made, Outcomes):
        raise TypeError(f"evaluate returned {type(made).__name__}; it returns medley.Outcomes")
    figures = {}
    for name, figure in made.figures.items():
        figure = figure if isinstance(figure, Figure) else Figure(figure)
        figures[name] = (_numbers(figure.rows, f"the figure '{name}'"), figure.low, figure.high)
    pictures = [
        None if picture is None else _tensor(picture, "a picture of the sheet") for picture in (made.input, made.target, made.output)
    ]
    answers = [[tuple(_task.Answer(*answer)) for answer in row] for row in made.answers]
    trivial = {name: _numbers(value, f"the trivial answer '{name}'") for name, value in made.trivial.items()}
    return (_numbers(made.score, "the score"), trivial, figures, made.chance, *pictures, answers)


def constant(task, name):
    return _tensor(task.constant(name), f"the constant '{name}'")


def cache_bytes(task):
    return int(task.cache_bytes())


def _options(options, control_text=()):
    made = Options(options)
    made.control_text = list(control_text)
    return made


def texts(cls, options, control_text):
    return list(cls.texts(_options(options, control_text)))


def classes(cls, options):
    return list(cls.classes(_options(options)))


_medley.set_glue(sys.modules[__name__])
