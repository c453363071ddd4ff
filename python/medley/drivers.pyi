import collections.abc
import typing

import numpy as np
import numpy.typing as npt
import torch

from medley import Context, Rows
from medley.task import Task, Tokenizer

_Arrays = collections.abc.Mapping[str, npt.ArrayLike]
_Turns = list[tuple[str, str] | tuple[str, str, bool]]

SHEET_ROWS: int

class Row:
    number: int
    longest: bool
    held_out: bool
    def __init__(self, number: int, seed: int, longest: bool, held_out: bool) -> None: ...
    def bits(self) -> int: ...
    def uniform(self, low: float = 0.0, high: float = 1.0) -> float: ...
    def below(self, limit: int) -> int: ...
    def coin(self) -> bool: ...
    def uniforms(self, shape: int | tuple[int, ...], low: float = 0.0, high: float = 1.0) -> npt.NDArray[np.float32]: ...

def each_row(rows: Rows) -> collections.abc.Iterator[Row]: ...
def balanced_label(number: int, labels: int) -> int: ...
def most_frequent_is_right(labels: npt.ArrayLike) -> npt.NDArray[np.float64]: ...

class ColumnsTask(Task):
    def inputs(self, context: Context) -> dict[str, torch.Tensor]: ...
    def output(self, context: Context) -> torch.Tensor: ...
    def columns(self, drawn: collections.abc.Sequence[_Arrays]) -> dict[str, npt.NDArray[typing.Any]]: ...

class ClassifyTask(ColumnsTask):
    def draw(self, row: Row) -> tuple[_Arrays, int]: ...
    def name_of(self, label: int) -> str: ...

class RegressTask(ColumnsTask):
    def draw(self, row: Row) -> tuple[_Arrays, npt.ArrayLike]: ...

class ReplyTask(Task):
    tokenizer: Tokenizer
    pad: int
    eos: int
    width: int
    reply_width: int
    term: str
    images: list[str]
    def draw(self, row: Row) -> tuple[str, str] | tuple[str, str, _Arrays]: ...

class PictureTask(Task):
    tokenizer: Tokenizer
    size: int
    pad: int
    width: int
    def draw(self, row: Row) -> tuple[str, npt.NDArray[np.uint8], npt.NDArray[np.uint8]]: ...
    def errors(self, drawn: torch.Tensor, target: torch.Tensor, seen: torch.Tensor) -> torch.Tensor: ...
    @classmethod
    def prompts(cls) -> collections.abc.Iterable[str]: ...

class ChatTask(Task):
    chats: typing.Any
    def draw(self, row: Row) -> _Turns: ...

class PreferenceTask(Task):
    chats: typing.Any
    beta: float
    def draw(self, row: Row) -> tuple[_Turns, str, str]: ...
