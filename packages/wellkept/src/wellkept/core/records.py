"""Frozen, slotted records that cost next to nothing to define.

    @record
    class Hit:
        id: str
        score: float = 0.0

A record behaves as a `dataclass(frozen=True, slots=True)` does: the same fields, defaults,
`__post_init__`, equality, hash, repr, patterns, copying and pickling. What differs is the price:
the standard module imports `inspect` and compiles half a dozen methods for every class, which was
half of the time a short-lived process took. Here a class compiles one method, its `__init__`, and
only once it has made so many records that this pays.

Invariant: defining a record imports nothing and compiles nothing. To code that does load
`dataclasses` a record is one of its own: its `fields`, `replace` and `asdict` work on it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from operator import attrgetter
from reprlib import recursive_repr
from types import MappingProxyType, MethodType
from typing import Any, TypeVar, cast, dataclass_transform, overload

_T = TypeVar("_T")
_FIELDS = "__record_fields__"
_COPY = "__record_copy__"
_CLASS_VARIABLES = ("ClassVar", "typing.ClassVar")


class _Missing:
    """No value at all, where None is one."""

    def __repr__(self) -> str:
        return "MISSING"


MISSING = _Missing()


class FrozenRecordError(AttributeError):
    """Somebody tried to change a record; `replace` makes a changed one."""


class Field:
    """What is known of one attribute of a record."""

    __slots__ = (
        "compare",
        "default",
        "default_factory",
        "kw_only",
        "metadata",
        "name",
        "repr",
        "type",
    )

    def __init__(
        self,
        *,
        default: object = MISSING,
        default_factory: Any = MISSING,
        repr: bool = True,
        compare: bool = True,
        metadata: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        self.name = ""
        self.type: Any = None
        self.kw_only = False
        self.default = default
        self.default_factory: Any = default_factory
        self.repr = repr
        self.compare = compare
        self.metadata = metadata

    @property
    def required(self) -> bool:
        """Whether a record cannot be made without a value for it."""
        return self.default is MISSING and self.default_factory is MISSING


@overload
def field(
    *, default: _T, repr: bool = True, compare: bool = True, metadata: Mapping[str, Any] = ...
) -> _T: ...
@overload
def field(
    *,
    default_factory: Callable[[], _T],
    repr: bool = True,
    compare: bool = True,
    metadata: Mapping[str, Any] = ...,
) -> _T: ...
def field(**options: Any) -> Any:
    """Say more about an attribute than its default."""
    return Field(**options)


@overload
@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def record(cls: type[_T], /) -> type[_T]: ...
@overload
@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def record(
    *, frozen: bool = True, kw_only: bool = False, repr: bool = True
) -> Callable[[type[_T]], type[_T]]: ...
def record(
    cls: type[Any] | None = None,
    /,
    *,
    frozen: bool = True,
    kw_only: bool = False,
    repr: bool = True,
) -> Any:
    """Make a record of a class, as a decorator with or without options."""

    def made(plain: type[Any]) -> type[Any]:
        return _made(plain, frozen=frozen, kw_only=kw_only, repr=repr)

    return made if cls is None else made(cls)


def fields(kind: object) -> tuple[Field, ...]:
    """The fields of a record or of its class, in order."""
    known: dict[str, Field] | None = getattr(kind, _FIELDS, None)
    if known is None:
        raise TypeError(f"{kind!r} is neither a record nor the class of one")
    return tuple(known.values())


def field_types(kind: type[object]) -> dict[str, Any]:
    """The type of each field of a record's class, resolved, in order of the fields."""
    from typing import get_type_hints

    hints = get_type_hints(kind)
    return {field.name: hints[field.name] for field in fields(kind)}


def is_record(value: object) -> bool:
    """Whether a value is a record or the class of one."""
    return hasattr(value, _FIELDS)


def replace(old: _T, /, **changes: Any) -> _T:
    """A new record with some values changed."""
    copied: Callable[[_T, dict[str, Any]], _T] | None = getattr(old, _COPY, None)
    if copied is not None:
        return copied(old, changes)
    known: dict[str, Field] | None = getattr(old, _FIELDS, None)
    for name in known if known is not None else map(attrgetter("name"), fields(old)):
        if name not in changes:
            changes[name] = getattr(old, name)
    return type(old)(**changes)


# -- Making the class -----------------------------------------------------------------------------


def _made(cls: type[Any], *, frozen: bool, kw_only: bool, repr: bool) -> type[Any]:
    """The class made again, with slots, which cannot be added to one that is there."""
    own = _own_fields(cls, kw_only=kw_only)
    inherited: dict[str, Field] = {}
    for base in reversed(cls.__mro__[1:]):
        inherited |= base.__dict__.get(_FIELDS, {})
    known = inherited | own
    namespace = {k: v for k, v in cls.__dict__.items() if k not in known and k not in _UNWANTED}
    for name, value in (_FROZEN if frozen else _MUTABLE).items():
        namespace.setdefault(name, value)
    if "__eq__" not in namespace:
        namespace |= _comparison([n for n, f in known.items() if f.compare], frozen=frozen)
    if repr:
        namespace.setdefault("__repr__", _repr)
    namespace.setdefault("__init__", _Constructor(_compiled))
    namespace |= {
        "__slots__": tuple(name for name in own if name not in inherited),
        "__match_args__": tuple(name for name, f in known.items() if not f.kw_only),
        "__dataclass_fields__": _Late(lambda made: _standard(made).__dataclass_fields__),
        "__dataclass_params__": _Late(lambda made: _standard(made).__dataclass_params__),
        "__record_frozen__": frozen,
        _FIELDS: known,
        _COPY: None,
    }
    made: type[Any] = cast("Any", type(cls))(cls.__name__, cls.__bases__, namespace)
    made.__qualname__ = cls.__qualname__
    return made


_UNWANTED = frozenset({"__dict__", "__weakref__"})


def _own_fields(cls: type[Any], *, kw_only: bool) -> dict[str, Field]:
    """The fields that a class itself declares."""
    own: dict[str, Field] = {}
    for name, hint in cls.__annotations__.items():
        if str(hint).startswith(_CLASS_VARIABLES):
            continue
        given = cls.__dict__.get(name, MISSING)
        one = given if isinstance(given, Field) else Field(default=given)
        if type(one.default).__hash__ is None:
            raise TypeError(
                f"{cls.__name__}.{name}: records would share this default; use a factory"
            )
        one.name, one.type, one.kw_only = name, hint, kw_only
        own[name] = one
    return own


def _comparison(names: list[str], *, frozen: bool) -> dict[str, Any]:
    """Equality by the values of the fields, and the hash that goes with it."""
    # Asked for one name alone, it would give the value and not a tuple.
    key: Callable[[Any], Any] = attrgetter(*names, names[0]) if names else lambda _: ()

    def __eq__(self: Any, other: Any) -> bool:  # noqa: N807
        return key(self) == key(other) if type(other) is type(self) else NotImplemented

    def __hash__(self: Any) -> int:  # noqa: N807
        return hash(key(self))

    # What can change must not be a key.
    return {"__eq__": __eq__, "__hash__": __hash__ if frozen else None}


# -- What every record can do ---------------------------------------------------------------------


@recursive_repr()
def _repr(self: Any) -> str:
    shown = (f"{f.name}={getattr(self, f.name)!r}" for f in fields(self) if f.repr)
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _refuse_to_set(self: Any, name: str, value: object) -> None:  # noqa: ARG001
    raise FrozenRecordError(f"{type(self).__name__}.{name} cannot be changed; use replace")


def _refuse_to_delete(self: Any, name: str) -> None:
    raise FrozenRecordError(f"{type(self).__name__}.{name} cannot be deleted")


def _state(self: Any) -> list[object]:
    return [getattr(self, one.name) for one in fields(self)]


def _set_state(self: Any, state: list[object]) -> None:
    for one, value in zip(fields(self), state, strict=True):
        object.__setattr__(self, one.name, value)


_MUTABLE = {"__getstate__": _state, "__setstate__": _set_state, "__replace__": replace}
_FROZEN = {"__setattr__": _refuse_to_set, "__delattr__": _refuse_to_delete, **_MUTABLE}


# -- What is made on first use --------------------------------------------------------------------


class _Late:
    """An attribute of a class that is made when somebody first asks for it."""

    def __init__(self, make: Callable[[Any], Any]) -> None:
        self._make = make

    def __set_name__(self, owner: type[Any], name: str) -> None:
        self._owner, self._name = owner, name

    def __get__(self, instance: object, kind: type[Any]) -> Any:
        return self._made()

    def _made(self) -> Any:
        value = self._make(self._owner)
        setattr(self._owner, self._name, value)
        return value


class _Constructor(_Late):
    """Fills the first records of a class by hand: compiling costs as much as some fifty of them.

    Whoever looks at the constructor of the class, and not of a record, gets the compiled one; so
    does a call that does not fit, for the compiled one says best what is wrong.
    """

    _uses = 0

    def __get__(self, instance: object, kind: type[Any]) -> Any:
        self._uses += 1
        # From Python 3.13 on, `inspect` asks with the class in the place of a record.
        of_record = instance is not None and not isinstance(instance, type)
        if of_record and self._uses <= _FILLED_BY_HAND:
            return MethodType(self._fill, instance)
        made = self._made()
        return made if instance is None else MethodType(made, instance)

    def _fill(self, instance: Any, /, *values: Any, **named: Any) -> None:
        given = {**dict(zip(self._owner.__match_args__, values, strict=False)), **named}
        fits = len(given) == len(values) + len(named)
        put = object.__setattr__
        for name, one in self._owner.__record_fields__.items():
            value = given.pop(name, one.default) if given else one.default
            if value is MISSING:
                if one.default_factory is MISSING:
                    fits = False
                    break
                value = one.default_factory()
            put(instance, name, value)
        if given or not fits:
            self._made()(instance, *values, **named)
        elif hasattr(instance, "__post_init__"):
            instance.__post_init__()


_FILLED_BY_HAND = 50


def _compiled(cls: Any) -> Callable[..., None]:
    """The constructor, compiled; a class that makes many records also copies many."""
    setattr(cls, _COPY, staticmethod(_compiled_copy(cls)))
    return _compiled_init(cls)


def _compiled_copy(cls: Any) -> Callable[[Any, dict[str, Any]], Any]:
    """What `replace` does, slot by slot and without the detour over names."""
    setters = {name: getattr(cls, name).__set__ for name in cls.__record_fields__}
    given: dict[str, Any] = {f"set_{name}": setter for name, setter in setters.items()}
    body = "\n  ".join(f"set_{name}(new, old.{name})" for name in setters) or "pass"
    source = f"def make({', '.join(given)}):\n def copy(new, old):\n  {body}\n return copy"
    made: dict[str, Any] = {}
    exec(source, {}, made)
    copy, is_checked = made["make"](**given), hasattr(cls, "__post_init__")

    def copied(old: Any, changes: dict[str, Any]) -> Any:
        new: Any = object.__new__(cast("type[Any]", type(old)))
        copy(new, old)
        for name, value in changes.items():
            if name not in setters:
                raise TypeError(f"{cls.__name__} has no field {name!r}")
            setters[name](new, value)
        if is_checked:
            new.__post_init__()
        return new

    return copied


def _compiled_init(cls: Any) -> Callable[..., None]:
    """Positional fields first, then those by name only."""
    known: dict[str, Field] = cls.__record_fields__
    frozen: bool = cls.__record_frozen__
    given: dict[str, Any] = {"MISSING": MISSING}
    by_place, by_name, body = ["self"], list[str](), list[str]()
    for name, one in known.items():
        (by_name if one.kw_only else by_place).append(_parameter(one, given))
        value = name
        if one.default_factory is not MISSING:
            given[f"make_{name}"] = one.default_factory
            value = f"make_{name}() if {name} is MISSING else {name}"
        if frozen:
            # The slot itself, since setting the attribute is refused; also the fastest way.
            given[f"set_{name}"] = getattr(cls, name).__set__
        body.append(f"set_{name}(self, {value})" if frozen else f"self.{name} = {value}")
    if hasattr(cls, "__post_init__"):
        body.append("self.__post_init__()")
    parameters = ", ".join([*by_place, *(["*", *by_name] if by_name else [])])
    lines = "\n  ".join(body or ["pass"])
    source = (
        f"def make({', '.join(given)}):\n def __init__({parameters}):\n  {lines}\n return __init__"
    )
    made: dict[str, Any] = {}
    exec(source, vars(sys.modules[cls.__module__]), made)
    init = made["make"](**given)
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    init.__annotations__ = {name: one.type for name, one in known.items()}
    return init


def _parameter(one: Field, given: dict[str, Any]) -> str:
    if one.required:
        return one.name
    if one.default is MISSING:
        return f"{one.name}=MISSING"
    given[f"default_{one.name}"] = one.default
    return f"{one.name}=default_{one.name}"


def _standard(cls: Any) -> Any:
    """The nearest thing that the standard module can make, for what it says about its fields."""
    import dataclasses

    said: list[tuple[str, Any, Any]] = []
    for one in fields(cls):
        options: dict[str, Any] = {
            name: getattr(one, name) for name in ("repr", "compare", "kw_only", "metadata")
        }
        for name in ("default", "default_factory"):
            if getattr(one, name) is not MISSING:
                options[name] = getattr(one, name)
        said.append((one.name, one.type, dataclasses.field(**options)))
    return dataclasses.make_dataclass(cls.__name__, said, frozen=cls.__record_frozen__, slots=True)
