"""A stand-in for the standard `dataclasses` where start-up time is all that counts.

The standard module imports `inspect` and compiles half a dozen methods for each class; for the
hundred records that an answer needs, that is most of the hook's time. Here one closure serves as
each class's constructor, and nothing is compiled. Records behave alike (construction, defaults,
`__post_init__`, equality, hash, `replace`, `fields`); what is left out only matters while a program
is being written: frozen records can be changed, slots are not made, and `repr` is the plain one.

`install` puts it in place of the standard module for the rest of the process, so only a process
that is about to end may call it. A test holds it against the standard module on every record of
the answer path, and the answers of both against each other.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any, TypeVar

_T = TypeVar("_T", bound=type[Any])


class _Missing:
    """No value at all, where None is one."""


MISSING = _Missing()
_PUBLIC = ("MISSING", "Field", "FrozenInstanceError", "dataclass", "field", "fields")


class FrozenInstanceError(AttributeError):
    """Never raised here; the name is there to be imported."""


class Field:
    """What is known of one attribute."""

    __slots__ = ("compare", "default", "default_factory", "kw_only", "metadata", "name")

    def __init__(self, default: object, default_factory: Any, options: dict[str, Any]) -> None:
        self.name = ""
        self.default = default
        self.default_factory: Any = default_factory
        self.compare: bool = options.get("compare", True)
        self.kw_only: bool | None = options.get("kw_only")
        self.metadata: Any = options.get("metadata") or {}


def field(*, default: Any = MISSING, default_factory: Any = MISSING, **options: Any) -> Any:
    """Say more about an attribute than its default."""
    return Field(default, default_factory, options)


def fields(record: Any) -> tuple[Field, ...]:
    """The fields of a record or of its class."""
    return tuple(record.__dataclass_fields__.values())


def is_dataclass(value: Any) -> bool:
    """Whether a value or a class is one of ours."""
    return hasattr(value, "__dataclass_fields__")


def replace(record: Any, /, **changes: Any) -> Any:
    """A new record with some values changed."""
    return type(record)(**{**record.__dict__, **changes})


def dataclass(
    cls: Any = None, /, *, kw_only: bool = False, eq: bool = True, **_options: Any
) -> Any:
    """Make a record of a class, as a decorator with or without options."""

    def decorate(plain: _T) -> _T:
        _prepare(plain, kw_only=kw_only, eq=eq)
        return plain

    return decorate if cls is None else decorate(cls)


def install() -> None:
    """Have every later `import dataclasses` in this process get this module."""
    module = ModuleType("dataclasses")
    for name in (*_PUBLIC, "is_dataclass", "replace"):
        setattr(module, name, globals()[name])
    sys.modules["dataclasses"] = module


# -- Making records -------------------------------------------------------------------------------


def _prepare(cls: Any, *, kw_only: bool, eq: bool) -> None:
    found = _collect(cls, kw_only=kw_only)
    cls.__dataclass_fields__ = found
    cls.__match_args__ = tuple(name for name, f in found.items() if not f.kw_only)
    if "__init__" not in cls.__dict__:
        cls.__init__ = _constructor(cls, found)
    if eq and "__eq__" not in cls.__dict__:
        cls.__eq__, cls.__hash__ = _comparison(tuple(n for n, f in found.items() if f.compare))


def _collect(cls: Any, *, kw_only: bool) -> dict[str, Field]:
    found: dict[str, Field] = {}
    for base in cls.__mro__[-1:0:-1]:
        found |= base.__dict__.get("__dataclass_fields__", {})
    for name, hint in cls.__annotations__.items():
        # Annotations are text in every module of ours (`from __future__ import annotations`).
        if "ClassVar" in str(hint):
            continue
        given = cls.__dict__.get(name, MISSING)
        one = given if isinstance(given, Field) else Field(given, MISSING, {})
        one.name = name
        one.kw_only = kw_only if one.kw_only is None else one.kw_only
        if one.default is not MISSING:
            setattr(cls, name, one.default)
        elif name in cls.__dict__:
            delattr(cls, name)
        found[name] = one
    return found


def _constructor(cls: type[Any], found: dict[str, Field]) -> Callable[..., None]:
    positional = tuple(name for name, f in found.items() if not f.kw_only)
    defaults = {name: f.default for name, f in found.items() if f.default is not MISSING}
    made = [(n, f.default_factory) for n, f in found.items() if f.default_factory is not MISSING]
    known, count = frozenset(found), len(found)
    post = getattr(cls, "__post_init__", None)

    def __init__(self: Any, *values: Any, **named: Any) -> None:  # noqa: N807
        record = self.__dict__
        record.update(defaults)
        if len(values) > len(positional) or not known.issuperset(named):
            raise TypeError(f"{cls.__name__}() got arguments that it does not take")
        record.update(zip(positional, values, strict=False))
        record.update(named)
        for name, make in made:
            if name not in record:
                record[name] = make()
        if len(record) != count:
            raise TypeError(f"{cls.__name__}() needs {sorted(known - record.keys())}")
        if post is not None:
            post(self)

    return __init__


def _comparison(
    names: tuple[str, ...],
) -> tuple[Callable[[Any, object], bool], Callable[[Any], int]]:
    def key(record: Any) -> tuple[Any, ...]:
        values = record.__dict__
        return tuple(values[name] for name in names)

    def __eq__(self: Any, other: object) -> bool:  # noqa: N807
        return key(self) == key(other) if type(other) is type(self) else NotImplemented

    def __hash__(self: Any) -> int:  # noqa: N807
        return hash(key(self))

    return __eq__, __hash__
