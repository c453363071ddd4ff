"""What a plugin in Python is made of."""

import dataclasses
import typing

from medley import _medley, _workers


class Task:
    """Something to learn: rows, the passes that a step over them makes, a score.

    `spec` is a literal directly in the class, which medley reads without running the file. A task keeps nothing between
    calls. `sample` may run on data threads, one at a time; everything else on the trainer's thread.
    """

    spec: typing.ClassVar[dict]

    def __init__(self, context):
        """`context`: a TaskContext, with the options, the variant, and what the model declares."""

    def sample(self, rows):
        """The rows: {name: [rows, ...] in numpy or torch, on the CPU; Ragged or Padded; or a term's name: its items}.

        A function of the rows' seed and numbers alone. Pictures are bytes, [rows, 3, size, size] uint8. A term without
        items has one a row.
        """
        raise NotImplementedError

    def run(self, name, context):
        """One pass of the spec: {term: its sum over the rows, a scalar with its graph}."""
        raise NotImplementedError

    def score(self, context):
        """[rows]: how good the model is at each row of a piece, without gradients."""
        raise NotImplementedError

    def evaluate(self, context, rows):
        """All that an evaluation tells, as Outcomes, in place of `score`. context.each(rows, fn) calls fn with pieces."""
        raise NotImplementedError

    def constant(self, name):
        """A table of the spec: [rows, width] int64 or float32."""
        raise NotImplementedError

    def cache_bytes(self):
        """The most bytes that it comes to keep of what it read."""
        return 0

    @classmethod
    def texts(cls, options):
        """All that it may show, for the tokenizer. `options.control_text` are the run's control words."""
        return []

    @classmethod
    def classes(cls, options):
        """The names of its classes by label, where files name them."""
        return []


@dataclasses.dataclass
class Ragged:
    """A column whose rows have different numbers of items: `values` [items, ...] of the first row, then of the second,
    and so on; `counts`: items of each."""

    values: typing.Any
    counts: typing.Any


@dataclasses.dataclass
class Padded(Ragged):
    """The same of integers, at most `width` a row: in a pass it is a column [rows, longest], with `pad` behind them."""

    width: int = 0
    pad: int = 0


class RaggedColumn(typing.NamedTuple):
    """A ragged column in a pass."""

    values: typing.Any  # [items, ...]
    offsets: list  # rows + 1
    item_row: typing.Any  # [items] int64: the row of each item


class Generated(typing.NamedTuple):
    """What a model wrote: of each row its tokens without the prompt, and the token that ended it (-1: it was cut)."""

    tokens: list
    ends: list
    image: typing.Any


@dataclasses.dataclass
class Figure:
    """A further figure beside a score; NaN: the row does not count in it. `low`, `high`: where a row's can be."""

    rows: typing.Any
    low: typing.Optional[float] = None
    high: typing.Optional[float] = None


class Answer(typing.NamedTuple):
    """A question in words as an evaluation put it to the model, for people to read."""

    question: str
    reply: str
    right: str
    is_right: bool = False
    is_measured: bool = False


@dataclasses.dataclass
class Outcomes:
    """What an evaluation found, row by row."""

    score: typing.Any  # [rows]
    trivial: dict = dataclasses.field(default_factory=dict)  # the same for answers that need no learning
    figures: dict = dataclasses.field(default_factory=dict)  # {name: [rows] or Figure}
    chance: typing.Optional[float] = None  # where it hangs on files
    input: typing.Any = None  # the first rows' pictures, for the sheet, bytes
    target: typing.Any = None
    output: typing.Any = None
    answers: list = dataclasses.field(default_factory=list)  # of the first rows, lists of Answer


class Options(dict):
    """Options by name, as classmethods see them."""

    control_text: list = []


def _open_tokenizer(file, special_tokens):
    """In a process that makes rows."""
    return Tokenizer(_medley.open_tokenizer(file, special_tokens))


class Tokenizer:
    """The run's tokenizer: special tokens are written in a text by name."""

    def __init__(self, context):
        self._context = context

    def __reduce__(self):
        return _open_tokenizer, _workers.tokenizer

    def encode(self, text):
        """Ids; names of special tokens, as <eos>, are these tokens."""
        return self._context.encode(text)

    def encode_text(self, text):
        """Ids of a text in which names of special tokens are letters like any others."""
        return self._context.encode_text(text)

    def decode(self, ids):
        return self._context.decode(ids)

    def id(self, special_token):
        return self._context.token(special_token)

    def has(self, special_token):
        return self._context.has_token(special_token)

    def __len__(self):
        return self._context.vocabulary()


class ModelValues:
    """The values of the model's config file, by name."""

    def __init__(self, context):
        self._context = context

    def __getitem__(self, name):
        return self._context.model_value(name)


class TaskContext:
    """What a task is built from."""

    def __init__(self, context):
        self._context = context
        self.options = Options(context.options)
        self.variant = context.variant

    @property
    def model(self):
        return ModelValues(self._context)

    @property
    def tokenizer(self):
        return Tokenizer(self._context)

    @property
    def image(self):
        """(pixels a side, pixels a side of a patch) of the model's pictures."""
        return self._context.image_size()

    @property
    def control_text(self):
        return self._context.control_text

    @property
    def classes(self):
        """The names of its classes by label, as the run keeps them."""
        return self._context.classes

    @property
    def names_are_text(self):
        """Whether names of special tokens in texts of people's files are text: then encode_text, else encode."""
        return self._context.names_are_text

    def chat_tokens(self, conversation, option="chat"):
        """(ids, learned places) of [(role, text[, learned]), ...] in the chat format that the option names, or the run's."""
        return self._context.chat_tokens(option, conversation)

    def chat_prompt(self, conversation, option="chat"):
        """(ids, the token that ends an answer): what a model is asked with that is to answer the last turn."""
        return self._context.chat_prompt(option, conversation)

    def say(self, words):
        """What a user should know of what the task found in its files: said when a run begins or goes on."""
        self._context.say(words)
