"""Light modules in the place of some of the standard library, for a process that answers once.

They hold the names that classes and annotations need while modules are loaded, and little else:
the real ones took a third of what an answer costs a hook. `install_for_one_answer` puts them in
place; whatever they lack comes from the real module.
"""

from __future__ import annotations

import _thread
import enum
from collections import namedtuple
from importlib import import_module
from types import GenericAlias, ModuleType, UnionType

from wellkept.core.startup import LightModule

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


# -- typing ---------------------------------------------------------------------------------------


class _Form:
    """A word for type checkers, such as `Final` or `Literal`; with brackets it keeps what is in
    them, as `get_args` wants."""

    def __init__(self, *_: object, **__: object) -> None:
        """Take what a `TypeVar` is given."""

    def __getitem__(self, inside: Any) -> GenericAlias:
        return GenericAlias(self, inside)  # type: ignore[arg-type]


class _Choice(_Form):
    """`Literal[...]`: no alias, as the real `get_type_hints` takes words in one for names."""

    def __getitem__(self, words: Any) -> Any:
        made: Any = _Choice()
        made.__origin__, made.__args__ = self, words if type(words) is tuple else (words,)
        return made

    def __or__(self, other: Any) -> GenericAlias:
        return GenericAlias(_UNION, (self, other))  # type: ignore[arg-type]

    __ror__ = __or__


_UNION = _Form()


class _Base:
    """`Protocol` and `Generic`: bases that do nothing."""

    def __class_getitem__(cls, inside: Any) -> GenericAlias:
        return GenericAlias(cls, inside)


class _NamedTuples(type):
    """Makes named tuples of classes with annotations, without compiling the annotations."""

    def __new__(cls, name: str, _bases: tuple[type, ...], body: dict[str, Any]) -> Any:
        fields = body.get("__annotations__", {})
        defaults = [body[field] for field in fields if field in body]
        made = namedtuple(name, fields, defaults=defaults, module=body["__module__"])  # type: ignore[misc]
        for key, value in body.items():
            if key not in fields and key != "__qualname__":
                setattr(made, key, value)
        return made


def _same(function: Any) -> Any:
    return function


def _cast(_: object, value: Any) -> Any:
    return value


def _transform(**_: object) -> Any:
    return _same


def _get_args(kind: Any) -> tuple[Any, ...]:
    return getattr(kind, "__args__", ())


def _get_origin(kind: Any) -> Any:
    return UnionType if isinstance(kind, UnionType) else getattr(kind, "__origin__", None)


_FORMS = "Annotated BinaryIO ClassVar Final IO NoReturn Optional Self TextIO TypeAlias Unpack"
_TYPING = LightModule(
    "typing",
    **{name: _Form() for name in _FORMS.split()},
    **{name: type(name, (_Base,), {}) for name in ("Any", "Generic", "Protocol")},
    Literal=_Choice(),
    Union=_UNION,
    NamedTuple=type.__new__(_NamedTuples, "NamedTuple", (), {}),
    ParamSpec=_Form,
    TYPE_CHECKING=False,
    TypeVar=_Form,
    cast=_cast,
    dataclass_transform=_transform,
    get_args=_get_args,
    get_origin=_get_origin,
    overload=_same,
    runtime_checkable=_same,
)


# -- enum -----------------------------------------------------------------------------------------


class _Words(type):
    """Makes the members of a `_StrEnum`."""

    def __new__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> Any:
        made: Any = super().__new__(cls, name, bases, body)
        members: dict[str, Any] = {}
        by_value: dict[str, Any] = {}
        made.__members__, made.by_value = members, by_value
        for key, value in body.items():
            if isinstance(value, str) and not key.startswith("_"):
                one = by_value.get(value) or str.__new__(made, value)
                one.name, one.value = key, value
                members[key] = by_value[value] = one
                type.__setattr__(made, key, one)
        return made

    def __call__(cls: Any, value: object) -> Any:
        if value in cls.by_value:
            return cls.by_value[value]
        raise ValueError(f"{value!r} is not a valid {cls.__qualname__}")

    def __iter__(cls: Any) -> Any:
        return iter(cls.by_value.values())

    def __len__(cls: Any) -> int:
        return len(cls.by_value)

    def __contains__(cls: Any, value: object) -> bool:
        return value in cls.by_value

    def __getitem__(cls: Any, name: str) -> Any:
        return cls.__members__[name]


class _StrEnum(str, metaclass=_Words):
    """`StrEnum` without what only other kinds of enumerations need."""

    def __repr__(self: Any) -> str:
        return f"<{type(self).__name__}.{self.name}: {self.value!r}>"


def _simple_enum(kind: Any = enum.Enum, **more: Any) -> Any:
    """How the standard library makes its own."""
    return enum._simple_enum(enum.StrEnum if kind is _StrEnum else kind, **more)  # type: ignore[attr-defined]


_ENUM = LightModule("enum", StrEnum=_StrEnum, _simple_enum=_simple_enum, _real=enum)


# -- The rest -------------------------------------------------------------------------------------


def _datetime() -> ModuleType:
    """Python 3.11 runs all of `datetime` in Python first, then replaces it by this one."""
    try:
        return import_module("_datetime")
    except ImportError:
        return import_module("datetime")


_PLAIN = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-~")


def _quote(text: str | bytes, safe: str = "/") -> str:
    """What `pathlib` and we want of `urllib.parse`, for addresses."""
    plain = _PLAIN.union(safe.encode())
    raw = text.encode() if isinstance(text, str) else text
    return "".join(chr(byte) if byte in plain else f"%{byte:02X}" for byte in raw)


_PARSE = LightModule("urllib.parse", quote=_quote, quote_from_bytes=_quote)
_THREADING = LightModule(
    "threading",
    Lock=_thread.allocate_lock,
    RLock=_thread.RLock,
    get_ident=_thread.get_ident,
    local=_thread._local,  # pyright: ignore[reportPrivateUsage]
)
setattr(import_module("urllib"), "parse", _PARSE)  # noqa: B010
MODULES = {
    "datetime": _datetime(),
    "enum": _ENUM,
    "threading": _THREADING,
    "typing": _TYPING,
    "urllib.parse": _PARSE,
}
