"""Settings of the runtime, each with its environment variables.

An area declares a record whose fields are made by `setting`; `load` fills it from a table of
settings and from the environment. A variable wins over the table; a value that does not fit is
refused with the name of the variable. `LoopSettings` are those of the loop itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any, TypeVar, cast, get_origin

from wellkept.core.errors import UsageError
from wellkept.core.records import Field, field_types, fields, record, replace
from wellkept.core.settings.model import SettingRule, setting

_T = TypeVar("_T")
_TRUE = frozenset({"1", "true", "yes", "on"})
_FALSE = frozenset({"0", "false", "no", "off", ""})


def doc_of(kind: type[object], one: Field) -> SettingRule:
    """The rule of a settings field. A record's VARIABLES begins the names of its variables."""
    rule: SettingRule = one.metadata["rule"]
    own, *others = rule.variables
    own = own or getattr(kind, "VARIABLES", "") + one.name.upper()
    return replace(rule, variables=(f"WELLKEPT_AGENT_{own}", *others))


def table(kind: type[object]) -> Iterator[tuple[str, object, SettingRule]]:
    """Name, default and rule of each setting of a record, for docs and tests."""
    for one in fields(kind):
        yield one.name, one.default, doc_of(kind, one)


def load(
    kind: type[_T],
    *,
    values: Mapping[str, object] | None = None,
    environment: Mapping[str, str] | None = None,
) -> _T:
    """A settings record from a table and the environment."""
    values, environment = values or {}, environment or {}
    types = field_types(kind)
    unknown = sorted(set(values) - set(types))
    if unknown:
        raise UsageError(f"Unknown agent setting: {', '.join(unknown)}.")
    found: dict[str, Any] = {}
    for one in fields(kind):
        if one.name in values:
            found[one.name] = _read(one, types[one.name], values[one.name], source=one.name)
        for variable in doc_of(kind, one).variables:
            if variable in environment:
                given = environment[variable]
                found[one.name] = _read(one, types[one.name], given, source=variable)
                break
    return kind(**found)


def _read(one: Field, kind: Any, given: object, *, source: str) -> Any:
    """A value of the field's type, or an error that names where it came from."""
    is_tuple = get_origin(kind) is tuple
    choices = (kind,) if is_tuple else getattr(kind, "__args__", (kind,))
    kinds = [k for k in choices if k is not type(None)]
    try:
        value = _converted(kinds[0], given)
    except (TypeError, ValueError) as error:
        raise UsageError(f"{source}={given!r} is no valid value: {error}.") from error
    known: SettingRule = one.metadata["rule"]
    if known.choices and str(value).strip().lower() not in known.choices:
        plain = one.name.replace("_", " ")
        raise UsageError(
            f"{source}={given!r} is no {plain}.",
            hint=f"Choose one of: {', '.join(known.choices)}.",
        )
    if isinstance(value, int | float) and not isinstance(value, bool):
        if known.low is not None and value < known.low:
            raise UsageError(f"{source}={given!r} is below {known.low:g}.")
        if known.high is not None and value > known.high:
            raise UsageError(f"{source}={given!r} is above {known.high:g}.")
    return value


def _converted(kind: Any, given: object) -> Any:
    if kind is bool:
        if isinstance(given, bool):
            return given
        plain = str(given).strip().lower()
        if plain not in _TRUE | _FALSE:
            raise ValueError("write true or false")
        return plain in _TRUE
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        choices = ", ".join(one.value for one in kind)
        plain = str(given).strip().lower()
        if plain not in {one.value for one in kind}:
            raise ValueError(f"choose one of {choices}")
        return kind(plain)
    if kind in (int, float):
        if isinstance(given, bool):
            raise TypeError("write a number")
        return kind(cast("str", given))
    if get_origin(kind) is tuple:
        parts = given.split(",") if isinstance(given, str) else cast("list[object]", given)
        return tuple(str(part).strip() for part in parts if str(part).strip())
    return str(given)


@record(kw_only=True)
class LoopSettings:
    """Limits of the loop."""

    max_steps: int = setting(100, "Model calls in one turn", "1..")
    max_tokens: int = setting(0, "Tokens a session may use in all; 0 is no limit", "0..")
    max_output_tokens: int = setting(0, "Tokens of one answer; 0 is the model's own", "0..")
    subagent_max_steps: int = setting(50, "Model calls of one sub-agent", "1..")
    parallel_tools: int = setting(8, "Read-only calls that run side by side", "1..64")
    hook_time_limit_s: float = setting(10.0, "Seconds that a hook may take", "0.01..")
    tool_time_limit_s: float = setting(180.0, "Seconds that a tool may take", "0.01..")
    max_result_chars: int = setting(60_000, "Characters of one tool result", "200..")
    repeated_calls: int = setting(
        4, "Equal calls with equal results before a hint; twice as many end the turn", "2.."
    )
    permission_mode: str = setting(
        "default",
        "default, plan, accept_edits, bypass or dont_ask",
        "default|plan|accept_edits|bypass|dont_ask",
    )
