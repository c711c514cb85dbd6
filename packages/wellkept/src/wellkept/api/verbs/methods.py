"""Verbs as methods of `Wellkept` and `AsyncWellkept`, with the types of their functions.

`library.py` has one line for each verb and class. At run time it names functions that are imported
when a method is first used.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import update_wrapper
from importlib import import_module
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, Self, TypeVar, overload

if TYPE_CHECKING:
    from wellkept.api.async_wellkept import AsyncWellkept
    from wellkept.api.wellkept import Wellkept

_Given = ParamSpec("_Given")
_Result = TypeVar("_Result")
_Noun = TypeVar("_Noun")


class Room:
    """The verbs of a room, imported on first use."""

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Callable[[], Callable[..., Any]]:
        return lambda: getattr(import_module(self._module), name)


class Nouns:
    """The verbs of a noun for one open memory: `wk.skill`."""

    def __init__(self, wk: Any) -> None:
        self.wk = wk


class Under(Generic[_Noun]):
    """A noun as an attribute."""

    def __init__(self, kind: Callable[[Any], _Noun]) -> None:
        self._kind = kind

    def __get__(self, instance: object, owner: type[object]) -> _Noun:
        return self._kind(instance)


def _memory(instance: Any) -> Any:
    return instance.wk if isinstance(instance, Nouns) else instance


class Method(Generic[_Given, _Result]):
    """A verb as a method; arguments are checked first."""

    def __init__(self, function: Callable[Concatenate[Wellkept, _Given], _Result]) -> None:
        self._function: Any = function

    @property
    def verb(self) -> Callable[..., _Result]:
        """The function that is the verb."""
        return self._function()

    def __call__(self, wk: Wellkept, *args: _Given.args, **kwargs: _Given.kwargs) -> _Result:
        """The method of a class, called with a memory."""
        return _checked(self.verb, wk, *args, **kwargs)

    @overload
    def __get__(self, instance: None, owner: type[object]) -> Self: ...

    @overload
    def __get__(
        self, instance: Wellkept | Nouns, owner: type[object]
    ) -> Callable[_Given, _Result]: ...

    def __get__(
        self, instance: Wellkept | Nouns | None, owner: type[object]
    ) -> Self | Callable[_Given, _Result]:
        if instance is None:
            return self
        function, wk = self.verb, _memory(instance)

        def call(*args: _Given.args, **kwargs: _Given.kwargs) -> _Result:
            return _checked(function, wk, *args, **kwargs)

        return update_wrapper(call, function)


class AsyncMethod(Generic[_Given, _Result]):
    """A verb that is awaited, as a method."""

    def __init__(self, function: Callable[Concatenate[Wellkept, _Given], _Result]) -> None:
        self._function: Any = function

    @overload
    def __get__(self, instance: None, owner: type[object]) -> Self: ...

    @overload
    def __get__(
        self, instance: AsyncWellkept | Nouns, owner: type[object]
    ) -> Callable[_Given, Coroutine[Any, Any, _Result]]: ...

    def __get__(
        self, instance: AsyncWellkept | Nouns | None, owner: type[object]
    ) -> Self | Callable[_Given, Coroutine[Any, Any, _Result]]:
        if instance is None:
            return self
        function, memory = self._function(), _memory(instance)

        async def call(*args: _Given.args, **kwargs: _Given.kwargs) -> _Result:
            def work(wk: Wellkept) -> _Result:
                return _checked(function, wk, *args, **kwargs)

            return await memory.run(work)

        return update_wrapper(call, function)


def _checked(function: Any, wk: Wellkept, /, *args: Any, **kwargs: Any) -> Any:
    from wellkept.api.verbs.check import exact
    from wellkept.api.verbs.table import called

    exact(function.verb, args, kwargs)
    return called(function.verb, wk, *args, **kwargs)
