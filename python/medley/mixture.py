"""medley's tasks and its exact mixture for a trainer of somebody else's."""

import json
import warnings

import torch

from medley import _arguments, _medley
from medley.task import Ragged


class Draw:
    """A task and a range of its rows, of which this process has its part.

    task, begin, rows: the whole draw, as all processes have it. first: the number of the part's first row. columns: {name: tensor}, rows
    first, the memory of medley's own (write to a copy), or Ragged. items: {term: [rows] int64}. weights: {term: weight}. passes: their names.
    """

    def __init__(self, made, device="cpu"):
        self._handle, self.task, self.begin, self.rows, self.first, columns, self.items, self.weights = made
        self.columns = _ragged(columns)
        self.device = torch.device(device)

    def __repr__(self):
        return f"<medley draw of {self.task!r}: rows {self.begin}..{self.begin + self.rows}>"

    @property
    def passes(self):
        return _medley.draw_passes(self._handle)

    def to(self, device):
        """The same draw with its columns on a device, where its passes then run."""
        handle, columns = _medley.draw_to(self._handle, str(device))
        return Draw((handle, self.task, self.begin, self.rows, self.first, columns, self.items, self.weights), device)

    def sums(self, model, references=None):
        """{term: (sum, items)}: a scalar with its graph, and the number of items in these rows.

        `model(inputs, wanted)` returns a dict with the wanted outputs. `inputs` is a dict of tensors; of what may come several times
        ("images") a list, oldest first. "targets" it may leave out where they are the supervised tokens. It is called once for each
        pass. Where the task's passes ask for further weights, `references` has a model for each: {"start": frozen}.

        Divide a sum by its items over all processes, times its weight: see docs/your-trainer.md.
        """
        lists = set(_medley.draw_lists(self._handle))
        references = references or {}

        def forward(task_pass, reference, inputs, wanted):
            if reference and reference not in references:
                raise _medley.Error(
                    f"the pass '{task_pass}' of '{self.task}' asks for the reference '{reference}': "
                    f'draw.sums(model, references={{"{reference}": ...}})'
                )
            return (references[reference] if reference else model)(_by_name(inputs, lists), wanted)

        return _medley.draw_sums(self._handle, forward, _in_double(model))

    def loss(self, model, references=None):
        """Of one process: the sum over the terms of weight * sum / items, a scalar with its graph."""
        terms = self.sums(model, references).items()
        return sum(self.weights[name] * total / max(items, 1) for name, (total, items) in terms)

    def inputs(self, task_pass):
        """What a pass hands its model: (inputs, wanted), as `sums` calls it. Of a pass that reads no carry."""
        inputs, wanted = _medley.draw_inputs(self._handle, task_pass, torch.get_default_dtype() == torch.float64)
        return _by_name(inputs, set(_medley.draw_lists(self._handle))), wanted


class Mixture:
    """An endless iterator over the draws that `medley train CONFIG` makes, one by one: the same tasks, rows and order.

    `rank` of `world` processes gets its part of each draw. Rows are numbers in the config or the overrides; where it leaves them to a
    plan, `plan_file` is the plan.json of a run or of `medley plan`. `stage`: of the weights; the first where none is named, and none ends.

    `state_dict` is a few integers, the same in all processes: another number of them may go on with it. To be used on the thread that
    made it: while a draw is made, torch's generator and type are the mixture's.
    """

    def __init__(self, config, *, rank=0, world=1, plan_file=None, stage=None, plugins=(), **overrides):
        self.rank, self.world = rank, world
        self._native = _medley.open_mixture(
            _arguments.path(config),
            _arguments.overrides(overrides),
            _arguments.paths(plugins),
            "" if plan_file is None else _arguments.path(plan_file),
            stage or "",
            rank,
            world,
        )

    def __iter__(self):
        return self

    def __next__(self):
        return Draw(self._native.next())

    def set_weights(self, weights):
        """Other weights from the next draw on: {"zoom": 2, "control": 1}, where what is not named is paused; or as Session.edit takes
        them. An error, and nothing has changed, where that is refused."""
        self._native.set_weights(_arguments.weights_file(weights, self._native.weights()))

    def shares(self):
        """{task: {"asked", "delivered", "rows", "draws"}}, in shares of the mixture's unit."""
        return json.loads(self._native.shares())

    @property
    def vocabulary(self):
        """How many tokens the config's tokenizer has; 0 without one."""
        return self._native.vocabulary()

    def state_dict(self):
        return json.loads(self._native.save())

    def load_state_dict(self, state):
        """Goes on there, with the weights of then. Warns of what is other than then; an error for a state of other rows."""
        for words in self._native.load(json.dumps(state)):
            warnings.warn("medley: " + words, stacklevel=2)


def _by_name(inputs, lists):
    named = {}
    for name, tensor in inputs:
        if name in lists:
            named.setdefault(name, []).append(tensor)
        else:
            named[name] = tensor
    return named


def _in_double(model):
    parameters = model.parameters() if isinstance(model, torch.nn.Module) else ()
    return next((each.dtype for each in parameters if each.is_floating_point()), None) == torch.float64


def _ragged(columns):
    return {name: Ragged(*value) if isinstance(value, tuple) else value for name, value in columns.items()}
