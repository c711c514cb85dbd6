"""Loads settings from files, environment and arguments.

Later sources win: defaults, the user's file, the project's file, the environment, explicit
arguments. An invalid value is reported with its location and does not hide the others. The
project's file comes with a checkout, so nothing in it stops anything: what it may not set, or sets
wrongly, is ignored with a warning, as is what was a setting once, in any source. Only `api` reads
settings; other packages get plain values.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, cast

from wellkept.core.errors import UsageError
from wellkept.core.records import record
from wellkept.core.settings import paths
from wellkept.core.settings.model import (
    RETIRED,
    SWITCHES,
    VARIABLE_PREFIX,
    SettingRule,
    Settings,
    attribute_of,
    find_rule,
    nearest,
    retired_note,
    rules,
)

if TYPE_CHECKING:
    from wellkept.core.ports.plugins import AgentSettingDoors
    from wellkept.core.settings.toml_file import Scalar, TomlEntry

AGENT_PREFIX = "agent."
"""Keys of the agent's own table. A process that runs no agent does not check them."""
_RETIRED_VARIABLES = {VARIABLE_PREFIX + key.replace(".", "_").upper(): key for key in RETIRED}


@record
class SettingSources:
    """Where settings are read from."""

    environment: Mapping[str, str]
    user_file: Path
    project_file: Path | None = None

    @classmethod
    def of(cls, environment: Mapping[str, str], *, cwd: Path) -> SettingSources:
        """The sources for a process with that environment in that folder."""
        return cls(environment, paths.config_file(environment), paths.project_file(cwd))


def load_settings(
    sources: SettingSources, *, explicit: Mapping[str, Scalar] | None = None
) -> Settings:
    """The effective settings; the first invalid value of the user's own raises UsageError."""
    settings, problems = inspect_settings(sources, explicit=explicit)
    own = [problem for problem in problems if str(problem) not in settings.warnings]
    if own:
        raise own[0]
    return settings


def inspect_settings(
    sources: SettingSources, *, explicit: Mapping[str, Scalar] | None = None
) -> tuple[Settings, list[UsageError]]:
    """The effective settings without invalid values, and the errors of those.

    Errors in the project's file and old settings are also in `Settings.warnings`.
    """
    values: dict[str, Scalar | Path] = {}
    origins: dict[str, str] = {}
    problems: list[UsageError] = []
    strange: list[UsageError] = []
    agent: dict[str, object] = {}
    gone: dict[str, UsageError] = {}
    for key, raw, origin, by_project in _values(sources, explicit or {}, problems, strange):
        if key.startswith(AGENT_PREFIX) and not by_project:
            agent[key.removeprefix(AGENT_PREFIX)] = raw
            origins[key] = origin
            continue
        if note := retired_note(key):
            gone.setdefault(key, UsageError(f"{origin}: {note}"))
            continue
        value = _accepted(key, raw, where=origin, by_project=by_project)
        if isinstance(value, UsageError):
            (strange if by_project else problems).append(value)
        else:
            values[attribute_of(key)] = value
            origins[key] = origin
    strange += gone.values()
    settings = Settings(
        **cast("dict[str, Any]", values),
        agent=MappingProxyType(agent),
        origins=MappingProxyType(origins),
        warnings=tuple(map(str, strange)),
    )
    return settings, [*problems, *strange]


def parse_value(rule: SettingRule, text: str) -> Scalar | Path:
    """Parse a value given as text; UsageError says what is allowed."""
    value = _checked(rule, _from_text(rule, text))
    if isinstance(value, UsageError):
        raise value
    return value


# -- Reading the sources --------------------------------------------------------------------------


def _values(
    sources: SettingSources,
    explicit: Mapping[str, Scalar],
    problems: list[UsageError],
    strange: list[UsageError],
) -> Iterator[tuple[str, object, str, bool]]:
    """Every given value, weakest source first: key, value, origin, by project."""
    yield from ((e.key, e.value, w, False) for e, w in _entries(sources.user_file, problems))
    if sources.project_file is not None:
        yield from ((e.key, e.value, w, True) for e, w in _entries(sources.project_file, strange))
    for rule in rules():
        text = sources.environment.get(rule.variable, "")
        if text:
            yield rule.key, _from_text(rule, text), rule.variable, False
    for variable, key in _RETIRED_VARIABLES.items():
        if sources.environment.get(variable):
            yield key, None, variable, False
    yield from ((key, value, "argument", False) for key, value in explicit.items())


def _entries(path: Path, problems: list[UsageError]) -> Iterable[tuple[TomlEntry, str]]:
    if not path.exists():
        return []
    from wellkept.core.settings.toml_file import read_entries

    try:
        entries = read_entries(path)
    except UsageError as error:
        problems.append(error)
        return []
    return [(e, f"{path}, line {e.line}" if e.line else str(path)) for e in entries]


def unknown_variables(environment: Mapping[str, str]) -> list[str]:
    """Variables with our prefix that are not settings."""
    from wellkept.core.doors import find_plugin

    agent: AgentSettingDoors | None = find_plugin("agent")
    known = {rule.variable for rule in rules()} | set(SWITCHES) | set(_RETIRED_VARIABLES)
    known |= set(agent.setting_variables() if agent else ())
    return sorted(v for v in environment if v.startswith(VARIABLE_PREFIX) and v not in known)


# -- Checking a value -----------------------------------------------------------------------------


def _accepted(key: str, raw: object, *, where: str, by_project: bool) -> Scalar | Path | UsageError:
    rule = find_rule(key)
    if rule is None and not key.startswith(AGENT_PREFIX):
        return UsageError(f"{where}: there is no setting {key!r}.", hint=nearest(key))
    if rule is None or (by_project and not rule.by_project):
        allowed = ", ".join(r.key for r in rules() if r.by_project)
        return UsageError(
            f"{where}: a project's file may not set {key!r}, since it comes with the checkout.",
            hint=f"Set it in your own file or environment. A project may set: {allowed}.",
        )
    return _checked(rule, raw, where=where)


def _checked(rule: SettingRule, raw: object, *, where: str = "") -> Scalar | Path | UsageError:
    """The value in the type of its rule, or an error (returned, not raised)."""
    before = f"{where}: " if where else ""
    value = float(raw) if rule.kind is float and type(raw) is int else raw
    if rule.kind is Path and isinstance(value, str) and value:
        try:
            return paths.expanded(value)
        except UsageError as error:
            return UsageError(f"{before}{error.message}", hint=error.hint)
    if not _fits(rule, value):
        return UsageError(f"{before}{rule.key} must be {_allowed(rule)}, not {raw!r}.")
    return cast("Scalar | Path", value)


def _fits(rule: SettingRule, value: object) -> bool:
    if type(value) is not rule.kind or value == "" or (rule.choices and value not in rule.choices):
        return False
    return not isinstance(value, (int, float)) or (math.isfinite(value) and _in_range(rule, value))


def _in_range(rule: SettingRule, value: float) -> bool:
    return (rule.low is None or value >= rule.low) and (rule.high is None or value <= rule.high)


def _from_text(rule: SettingRule, text: str) -> object:
    """Parse numbers; other text stays and fails the check with a clear message."""
    try:
        return rule.kind(text.strip()) if rule.kind in (int, float) else text.strip()
    except ValueError:
        return text


def _allowed(rule: SettingRule) -> str:
    if rule.choices:
        return f"one of {', '.join(rule.choices)}"
    noun = {int: "a whole number", float: "a number", Path: "a path", str: "a text"}[rule.kind]
    if rule.low is None:
        return noun
    return f"{noun} from {rule.low:g} to {rule.high:g}" if rule.high is not None else noun
