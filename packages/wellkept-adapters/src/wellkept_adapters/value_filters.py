"""Conditions on JSON values, in the two ways that frameworks write them.

LangGraph: `{"age": {"$gt": 3}}`. Mem0: `{"age": {"gt": 3}, "OR": [...]}`. A comparison with
something that is no number is false; an operator that is not known is an error.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, cast

Compare = Callable[[Any, Any], bool]


def _numbers(compare: Compare) -> Compare:
    return lambda have, want: compare(_number(have), _number(want))


def _number(value: object) -> float:
    try:
        return float(cast("Any", value))
    except (TypeError, ValueError):
        return float("nan")


def _texts(have: object) -> list[str]:
    if isinstance(have, (list, tuple)):
        return [str(one) for one in cast("Sequence[object]", have)]
    return [] if have is None else [str(have)]


_COMPARE: Final[Mapping[str, Compare]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "gt": _numbers(operator.gt),
    "gte": _numbers(operator.ge),
    "lt": _numbers(operator.lt),
    "lte": _numbers(operator.le),
}
_MORE: Final[Mapping[str, Compare]] = {
    "in": lambda have, want: have in want,
    "nin": lambda have, want: have not in want,
    "contains": lambda have, want: any(str(want) in one for one in _texts(have)),
    "icontains": lambda have, want: any(
        str(want).casefold() in one.casefold() for one in _texts(have)
    ),
}
_LANGGRAPH: Final = {f"${name}": compare for name, compare in _COMPARE.items()}
_MEM0: Final = {**_COMPARE, **_MORE}


# -- LangGraph ------------------------------------------------------------------------------------


def fits(value: object, wanted: object) -> bool:
    """Whether a value has what LangGraph's filter asks for."""
    if isinstance(wanted, Mapping):
        conditions = cast("Mapping[str, object]", wanted)
        if any(key.startswith("$") for key in conditions):
            return all(_holds(_LANGGRAPH, name, value, w) for name, w in conditions.items())
        if not isinstance(value, Mapping):
            return False
        inner = cast("Mapping[str, object]", value)
        return all(fits(inner.get(key), want) for key, want in conditions.items())
    if isinstance(wanted, (list, tuple)):
        wants = cast("Sequence[object]", wanted)
        if not isinstance(value, (list, tuple)):
            return False
        haves = cast("Sequence[object]", value)
        return len(haves) == len(wants) and all(map(fits, haves, wants))
    return value == wanted


# -- Mem0 -----------------------------------------------------------------------------------------


def fits_mem0(fields: Mapping[str, object], filters: Mapping[str, object]) -> bool:
    """Whether the fields of a memory have what Mem0's filters ask for."""
    return all(_mem0_condition(fields, name, wanted) for name, wanted in filters.items())


def _mem0_condition(fields: Mapping[str, object], name: str, wanted: object) -> bool:
    match name.removeprefix("$").upper():
        case "AND":
            return all(fits_mem0(fields, one) for one in _several(name, wanted))
        case "OR":
            return any(fits_mem0(fields, one) for one in _several(name, wanted))
        case "NOT":
            return not any(fits_mem0(fields, one) for one in _several(name, wanted))
        case _:
            pass
    have = fields.get(name)
    if isinstance(wanted, Mapping):
        conditions = cast("Mapping[str, object]", wanted)
        return all(_holds(_MEM0, one, have, want) for one, want in conditions.items())
    if wanted == "*":
        return name in fields
    return have in cast("list[object]", wanted) if isinstance(wanted, list) else have == wanted


def _several(name: str, wanted: object) -> list[Mapping[str, object]]:
    if not isinstance(wanted, list):
        raise ValueError(f"{name} takes a list of filters, not {type(wanted).__name__}.")
    return cast("list[Mapping[str, object]]", wanted)


def _holds(known: Mapping[str, Compare], name: str, have: object, want: object) -> bool:
    if name not in known:
        raise ValueError(f"Unknown operator {name!r}; there are {', '.join(known)}.")
    return bool(known[name](have, want))
