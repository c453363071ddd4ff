import collections.abc
import os
import typing

import torch

from medley.task import Ragged

_Path = str | os.PathLike[str]
_Model = collections.abc.Callable[[dict[str, typing.Any], list[str]], collections.abc.Mapping[str, torch.Tensor]]
_Sums = dict[str, tuple[torch.Tensor, int]]

class Draw:
    task: str
    begin: int
    rows: int
    first: int
    columns: dict[str, torch.Tensor | Ragged]
    items: dict[str, torch.Tensor]
    weights: dict[str, float]
    device: torch.device
    def __init__(self, made: tuple[typing.Any, ...], device: str | torch.device = "cpu") -> None: ...
    @property
    def passes(self) -> list[str]: ...
    def to(self, device: str | torch.device) -> Draw: ...
    def sums(self, model: _Model, references: collections.abc.Mapping[str, _Model] | None = None) -> _Sums: ...
    def loss(self, model: _Model, references: collections.abc.Mapping[str, _Model] | None = None) -> torch.Tensor: ...
    def inputs(self, task_pass: str) -> tuple[dict[str, typing.Any], list[str]]: ...

class Mixture:
    rank: int
    world: int
    def __init__(
        self,
        config: _Path,
        *,
        rank: int = 0,
        world: int = 1,
        plan_file: _Path | None = None,
        stage: str | None = None,
        plugins: _Path | collections.abc.Iterable[_Path] = (),
        **overrides: typing.Any,
    ) -> None: ...
    def __iter__(self) -> Mixture: ...
    def __next__(self) -> Draw: ...
    def set_weights(self, weights: dict[str, typing.Any] | str | os.PathLike[str]) -> None: ...
    def shares(self) -> dict[str, dict[str, float]]: ...
    @property
    def vocabulary(self) -> int: ...
    def state_dict(self) -> dict[str, typing.Any]: ...
    def load_state_dict(self, state: dict[str, typing.Any]) -> None: ...
