"""The parameters of a verb, read from its signature. Without `inspect`: it takes milliseconds."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from datetime import datetime
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Literal, Union, cast, get_args, get_origin, get_type_hints

from wellkept.core.codec import Payload
from wellkept.core.records import is_record, record
from wellkept.core.verbs import Arg, Verb

REQUIRED: Final = object()
"""The default of a parameter that has none."""


@record
class Kind:
    """The form of a value, the choices or the record it is of, and whether None may stand."""

    form: Literal[
        "text",
        "texts",
        "int",
        "ints",
        "float",
        "bool",
        "choice",
        "moment",
        "object",
        "records",
        "any",
    ]
    of: Any = None
    nullable: bool = False

    @property
    def is_many(self) -> bool:
        return self.form in ("texts", "ints", "records")


@record(kw_only=True)
class Param:
    """One parameter. `of_text` says that it belongs to `as_text`."""

    name: str
    kind: Kind
    arg: Arg
    default: Any
    positional: bool = False
    of_text: bool = False

    @property
    def required(self) -> bool:
        return self.default is REQUIRED


@cache
def params_of(function: Callable[..., Any]) -> tuple[Param, ...]:
    """The parameters of a function that have an `Arg`; those of a TypedDict of keywords too."""
    code, found = function.__code__, list[Param]()
    count, by_name = code.co_argcount, code.co_kwonlyargcount
    names = code.co_varnames[: count + by_name]
    defaults = dict(
        zip(reversed(names[:count]), reversed(function.__defaults__ or ()), strict=False)
    )
    defaults |= function.__kwdefaults__ or {}
    hints: Mapping[str, Any] = function.__annotations__
    for place, name in enumerate(names):
        if name in hints and "Arg" in str(hints[name]):
            hint = _evaluated(hints[name], function)
            default = defaults.get(name, REQUIRED)
            found.append(_param(name, hint, default, positional=place < count))
    return (*found, *params_in(keywords_of(function)))


def params_in(hints: Mapping[str, Any]) -> tuple[Param, ...]:
    """The parameters among annotations: those that have an `Arg`."""
    return tuple(
        _param(name, hint, None)
        for name, hint in hints.items()
        if any(isinstance(one, Arg) for one in getattr(hint, "__metadata__", ()))
    )


@cache
def keywords_of(function: Callable[..., Any]) -> Mapping[str, Any]:
    """The keywords that a TypedDict adds to a function, with their annotations."""
    code = function.__code__
    takes_any = bool(code.co_flags & 0x08)
    rest = code.co_varnames[code.co_argcount + code.co_kwonlyargcount] if takes_any else ""
    hint = function.__annotations__.get(rest)
    if hint is None:
        return {}
    return get_type_hints(get_args(_evaluated(hint, function))[0], include_extras=True)


def result_of(function: Callable[..., Any]) -> Any:
    """The class of what a verb returns."""
    return _evaluated(function.__annotations__["return"], function)


@cache
def text_params(function: Callable[..., Any]) -> tuple[Param, ...]:
    """The parameters of the result's `as_text`."""
    from wellkept.core.records import replace

    return tuple(replace(one, of_text=True) for one in params_of(result_of(function).as_text))


def all_params(verb: Verb) -> tuple[Param, ...]:
    """What a command and a tool take: the arguments of the verb and those of its text."""
    return (*params_of(verb.function), *text_params(verb.function))


def _evaluated(hint: Any, function: Callable[..., Any]) -> Any:
    if not isinstance(hint, str):
        return hint
    try:
        return eval(hint, function.__globals__, {"Arg": Arg})
    except NameError:
        return eval(hint, names_of(function.__module__))


def names_of(module_name: str) -> dict[str, Any]:
    """The names of a module, with those that it imports for type checkers only: what a result is
    made of is imported when somebody asks."""
    import ast
    from pathlib import Path

    module = sys.modules[module_name]
    names: dict[str, Any] = dict(vars(module))
    tree = ast.parse(Path(str(module.__file__)).read_text("utf-8"))
    for node in tree.body:
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            for one in node.body:
                with suppress(ImportError):  # a class that is being imported itself
                    exec(compile(ast.Module([one], []), str(module.__file__), "exec"), names)
    return names


def _param(name: str, hint: Any, default: Any, *, positional: bool = False) -> Param:
    arg = next(one for one in hint.__metadata__ if isinstance(one, Arg))
    kind = kind_of(hint.__origin__)
    return Param(name=name, kind=kind, arg=arg, default=default, positional=positional)


def kind_of(hint: Any) -> Kind:
    """The kind of an annotation."""
    origin, args = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return kind_of(args[0])
    if origin in (Union, UnionType):
        return _union_kind(args)
    if origin is Literal:
        return Kind("choice", args)
    if origin in (tuple, list, Iterable, cast("Any", get_origin(Iterable[int]))):
        return _list_kind(args[0])
    if isinstance(hint, type):
        if issubclass(hint, Enum):
            return Kind("choice", tuple(one.value for one in hint))
        if issubclass(hint, Payload) or origin is dict:
            return Kind("object")
        if is_record(cast("type[Any]", hint)):
            return Kind("object", hint)
    if hint is Any:
        return Kind("any")
    simple = _SIMPLE.get(hint)
    return Kind(simple) if simple else Kind("object")


def _union_kind(args: tuple[Any, ...]) -> Kind:
    rest = [one for one in args if one is not NoneType]
    nullable = len(rest) < len(args)
    if len(rest) == 1:
        plain = kind_of(rest[0])
        return Kind(plain.form, plain.of, nullable)
    if datetime in rest:
        return Kind("moment", None, nullable)
    chosen = next((one for one in map(kind_of, rest) if one.form == "choice"), None)
    if chosen is not None:
        return Kind("choice", chosen.of, nullable)
    return Kind("texts" if str in rest else "object", None, nullable)


def _list_kind(inner: Any) -> Kind:
    if inner is int:
        return Kind("ints")
    if get_origin(inner) is dict:
        return Kind("records")
    return Kind("records", inner) if is_record(inner) else Kind("texts")


_SIMPLE: Final[dict[Any, Any]] = {
    str: "text",
    int: "int",
    float: "float",
    bool: "bool",
    datetime: "moment",
}
