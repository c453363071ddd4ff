import collections.abc
import typing

import torch

from medley.mixture import Draw as Draw, Mixture as Mixture
from medley.rows import Rows as Rows, site as site
from medley.session import Session as Session
from medley.task import (
    Answer as Answer,
    Figure as Figure,
    Generated as Generated,
    Outcomes as Outcomes,
    Padded as Padded,
    Ragged as Ragged,
    RaggedColumn as RaggedColumn,
    Task as Task,
    TaskContext as TaskContext,
)

_Inputs = typing.Union[
    collections.abc.Mapping[str, typing.Union[torch.Tensor, collections.abc.Sequence[torch.Tensor]]],
    collections.abc.Iterable[tuple[str, typing.Union[torch.Tensor, collections.abc.Sequence[torch.Tensor]]]],
]

__all__: list[str]
__version__: str

class Error(Exception):
    code: int

class Context:
    @property
    def rows(self) -> Rows: ...
    @property
    def device(self) -> torch.device: ...
    def __getitem__(self, name: str, /) -> torch.Tensor: ...
    def column(self, name: str, /) -> torch.Tensor: ...
    def ragged(self, name: str, /) -> RaggedColumn: ...
    def pixels(self, name: str, /) -> torch.Tensor: ...
    def image(self, name: str, /) -> torch.Tensor: ...
    def constant(self, name: str, /) -> torch.Tensor: ...
    def carried(self, name: str, /) -> torch.Tensor: ...
    def carry(self, name: str, tensor: torch.Tensor, /) -> None: ...
    def forward(self, inputs: _Inputs, wanted: collections.abc.Iterable[str], /) -> dict[str, torch.Tensor]: ...
    def forward_of(self, reference: str, inputs: _Inputs, wanted: collections.abc.Iterable[str], /) -> dict[str, torch.Tensor]: ...
    def generate(
        self,
        prompt: _Inputs,
        max_new_tokens: int = 16,
        temperature: float = 0,
        top_p: float = 1,
        seed: int = 0,
        decode_image: bool = False,
        ends: collections.abc.Iterable[int] = (),
    ) -> Generated: ...
    def seed(self, site: str, /) -> int: ...
    def items(self, term: str, /) -> torch.Tensor: ...

class EvalContext:
    def each(self, rows: Rows, fn: collections.abc.Callable[[Context], typing.Any], /) -> None: ...
