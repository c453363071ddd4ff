import collections.abc
import dataclasses
import typing

import numpy as np
import torch

from medley import Context, EvalContext
from medley.rows import Rows

_Array = np.ndarray[typing.Any, typing.Any] | torch.Tensor
_Numbers = _Array | collections.abc.Sequence[float]
_Conversation = collections.abc.Sequence[tuple[str, str] | tuple[str, str, bool]]

class Task:
    spec: typing.ClassVar[dict[str, typing.Any]]
    def __init__(self, context: TaskContext) -> None: ...
    def sample(self, rows: Rows) -> dict[str, _Array | Ragged]: ...
    def run(self, name: str, context: Context) -> dict[str, torch.Tensor]: ...
    def score(self, context: Context) -> _Numbers: ...
    def evaluate(self, context: EvalContext, rows: Rows) -> Outcomes: ...
    def constant(self, name: str) -> _Array: ...
    def cache_bytes(self) -> int: ...
    @classmethod
    def texts(cls, options: Options) -> collections.abc.Iterable[str]: ...
    @classmethod
    def classes(cls, options: Options) -> collections.abc.Iterable[str]: ...

@dataclasses.dataclass
class Ragged:
    values: _Array
    counts: _Array | collections.abc.Sequence[int]

@dataclasses.dataclass
class Padded(Ragged):
    width: int = 0
    pad: int = 0

class RaggedColumn(typing.NamedTuple):
    values: torch.Tensor
    offsets: list[int]
    item_row: torch.Tensor

class Generated(typing.NamedTuple):
    tokens: list[list[int]]
    ends: list[int]
    image: torch.Tensor | None

@dataclasses.dataclass
class Figure:
    rows: _Numbers
    low: float | None = None
    high: float | None = None

class Answer(typing.NamedTuple):
    question: str
    reply: str
    right: str
    is_right: bool = False
    is_measured: bool = False

@dataclasses.dataclass
class Outcomes:
    score: _Numbers
    trivial: dict[str, _Numbers] = ...
    figures: dict[str, _Numbers | Figure] = ...
    chance: float | None = None
    input: _Array | None = None
    target: _Array | None = None
    output: _Array | None = None
    answers: list[list[Answer]] = ...

class Options(dict[str, typing.Any]):
    control_text: list[str]

class Tokenizer:
    def __init__(self, context: typing.Any) -> None: ...
    def encode(self, text: str) -> list[int]: ...
    def encode_text(self, text: str) -> list[int]: ...
    def decode(self, ids: collections.abc.Iterable[int]) -> str: ...
    def id(self, special_token: str) -> int: ...
    def has(self, special_token: str) -> bool: ...
    def __len__(self) -> int: ...

class ModelValues:
    def __init__(self, context: typing.Any) -> None: ...
    def __getitem__(self, name: str) -> typing.Any: ...

class TaskContext:
    options: Options
    variant: str
    def __init__(self, context: typing.Any) -> None: ...
    @property
    def model(self) -> ModelValues: ...
    @property
    def tokenizer(self) -> Tokenizer: ...
    @property
    def image(self) -> tuple[int, int]: ...
    @property
    def control_text(self) -> list[str]: ...
    @property
    def classes(self) -> list[str]: ...
    @property
    def names_are_text(self) -> bool: ...
    def chat_tokens(self, conversation: _Conversation, option: str = "chat") -> tuple[list[int], list[int]]: ...
    def chat_prompt(self, conversation: _Conversation, option: str = "chat") -> tuple[list[int], int]: ...
    def say(self, words: str) -> None: ...
