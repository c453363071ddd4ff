import collections.abc
import os
import typing

from medley._metrics import Metrics

_Path = str | os.PathLike[str]
_Paths = _Path | collections.abc.Iterable[_Path]
_Progress = bool | collections.abc.Callable[[str, str], typing.Any] | None
_Record = dict[str, typing.Any]

class Session:
    directory: str
    code: int
    def __init__(
        self,
        config: _Path,
        directory: _Path | None = None,
        *,
        plugins: _Paths = (),
        profile: _Path | None = None,
        progress: _Progress = True,
        **overrides: typing.Any,
    ) -> None: ...
    @classmethod
    def resume(
        cls,
        directory: _Path,
        *,
        plugins: _Paths = (),
        allow_changed: _Paths = (),
        from_step: int | None = None,
        progress: _Progress = True,
        **overrides: typing.Any,
    ) -> Session: ...
    def __enter__(self) -> Session: ...
    def __exit__(self, *_: object) -> None: ...
    @property
    def step(self) -> int: ...
    def train(self, n: int | None = None) -> _Record | None: ...
    def steps(self, n: int | None = None) -> collections.abc.Iterator[_Record]: ...
    def save(self) -> None: ...
    def edit(self, weights: dict[str, typing.Any] | str | os.PathLike[str]) -> None: ...
    def evaluate(self, rows: int | None = None) -> dict[str, _Record]: ...
    def metrics(self) -> Metrics: ...
    def page(self) -> str: ...
    def close(self) -> None: ...
