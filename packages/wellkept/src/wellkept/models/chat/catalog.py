"""Vendors and models as data: context sizes, capabilities, addresses, how thinking is asked for.

The built-in table is `data/models.toml`. A user's file of the same form adds vendors and models and
overrides built-in ones; it is the user's own and never comes from a project. Invariant: every
model of a known vendor has a row, so that a new model works before anybody lists it.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast, get_args

from wellkept.core.chat.messages import ModelInfo, ThinkingSupport
from wellkept.core.errors import UsageError
from wellkept.core.records import field, fields, record, replace

Protocol: TypeAlias = Literal["anthropic", "openai"]
ThinkingForm: TypeAlias = Literal["none", "budget", "adaptive", "effort", "switch", "qwen"]
_SAME_EFFORTS: Mapping[str, str] = {"high": "high", "xhigh": "xhigh"}


@record(kw_only=True)
class ProviderPreset:
    """A vendor: its protocol, address, and the variables that hold key and address."""

    name: str
    protocol: Protocol
    base_url: str
    default_model: str
    key_variables: tuple[str, ...] = ()
    url_variables: tuple[str, ...] = ()
    aliases: Mapping[str, str] = field(default_factory=dict[str, str])
    limit_field: str = "max_tokens"
    needs_key: bool = True
    returns_thinking: bool = False
    cuts_silently: bool = False


@record(kw_only=True)
class ModelRow:
    """What is known of a model, and how its vendor is told to think."""

    info: ModelInfo
    thinking: ThinkingForm = "none"
    efforts: Mapping[str, str] = field(default_factory=lambda: dict(_SAME_EFFORTS))
    off: str | None = None
    no_effort_with_tools: bool = False


class ModelCatalog:
    """The table: vendors by name, rows by vendor."""

    def __init__(self, *tables: Mapping[str, Any], source: str = "models.toml") -> None:
        self._presets: dict[str, ProviderPreset] = {}
        self._rows: list[Mapping[str, Any]] = []
        for table in tables:
            self._add(table, source=source)

    def extended(self, table: Mapping[str, Any], *, source: str) -> ModelCatalog:
        """This table with another one on top."""
        wider = ModelCatalog()
        wider._presets = dict(self._presets)
        wider._rows = list(self._rows)
        wider._add(table, source=source)
        return wider

    def providers(self) -> list[str]:
        """The names of all vendors."""
        return list(self._presets)

    def preset(self, name: str) -> ProviderPreset:
        """A vendor by name."""
        found = self._presets.get(name)
        if found is None:
            raise UsageError(
                f"Unknown model provider {name!r}.",
                hint=f"One of: {', '.join(self._presets)}; or list it in models.toml.",
            )
        return found

    def knows(self, provider: str, model: str) -> bool:
        """Whether a row of its own fits a model, not only the vendor's row for all."""
        return any(row["match"] != "*" for row in self._matching(provider, model))

    def row(self, provider: str, model: str) -> ModelRow:
        """What is known of a model; more specific rows override less specific ones."""
        merged: dict[str, Any] = {}
        for row in self._matching(provider, model):
            merged |= row
        return _row(provider, model, merged)

    def _matching(self, provider: str, model: str) -> list[Mapping[str, Any]]:
        """Rows from the least to the most specific; of equals the later one counts more."""
        plain = model.lower()
        fitting = [
            row
            for row in self._rows
            if row["provider"] == provider and fnmatchcase(plain, row["match"].lower())
        ]
        return sorted(fitting, key=lambda row: _specificity(row["match"]))

    def _add(self, table: Mapping[str, Any], *, source: str) -> None:
        unknown = set(table) - {"providers", "models"}
        if unknown:
            raise _wrong(source, f"unknown table {sorted(unknown)[0]!r}")
        for name, given in _table(table.get("providers", {}), source, "providers").items():
            self._presets[name] = self._preset(name, _table(given, source, name), source)
        for number, given in enumerate(_list(table.get("models", []), source, "models"), start=1):
            row = _table(given, source, f"models[{number}]")
            self._rows.append(self._checked(row, source, number))

    def _preset(self, name: str, given: Mapping[str, Any], source: str) -> ProviderPreset:
        known = {one.name for one in fields(ProviderPreset)} - {"name"}
        if unknown := sorted(set(given) - known):
            raise _wrong(source, f"providers.{name} has no field {unknown[0]!r}")
        for key, value in given.items():
            if not isinstance(value, _PRESET_TYPES.get(key, str)):
                raise _wrong(source, f"providers.{name}.{key} = {value!r} is no valid value")
        values: dict[str, Any] = {
            key: tuple(cast("list[Any]", value)) if isinstance(value, list) else value
            for key, value in given.items()
        }
        before = self._presets.get(name)
        if before is not None:
            return replace(before, **values)
        for needed in ("protocol", "base_url", "default_model"):
            if not isinstance(values.get(needed), str):
                raise _wrong(source, f"providers.{name} needs {needed}")
        if values["protocol"] not in get_args(Protocol):
            raise _wrong(source, f"providers.{name}: protocol is anthropic or openai")
        return ProviderPreset(name=name, **values)

    def _checked(self, row: Mapping[str, Any], source: str, number: int) -> Mapping[str, Any]:
        """A row whose fields have the right types; the error names the row."""
        place = f"models[{number}]"
        for needed in ("provider", "match"):
            if not isinstance(row.get(needed), str):
                raise _wrong(source, f"{place} needs {needed}")
        self.preset(row["provider"])
        for key, value in row.items():
            kinds = _ROW_TYPES.get(key)
            if kinds is None:
                raise _wrong(source, f"{place} has no field {key!r}")
            fits = isinstance(value, kinds)
            if fits and kinds is int:
                fits = not isinstance(value, bool) and value >= 1
            if not fits:
                raise _wrong(source, f"{place}.{key} = {value!r} is no valid value")
        if row.get("thinking", "none") not in get_args(ThinkingForm):
            raise _wrong(source, f"{place}.thinking is one of {', '.join(get_args(ThinkingForm))}")
        return row


_ROW_TYPES: Mapping[str, type] = {
    "provider": str,
    "match": str,
    "context_tokens": int,
    "max_output_tokens": int,
    "has_tools": bool,
    "has_images": bool,
    "has_prompt_cache": bool,
    "small": bool,
    "thinking": str,
    "levels": list,
    "default_level": str,
    "max_budget": int,
    "deep_budget": int,
    "ultra_budget": int,
    "efforts": dict,
    "off": str,
    "no_effort_with_tools": bool,
}
_PRESET_TYPES: Mapping[str, type] = {
    "key_variables": list,
    "url_variables": list,
    "aliases": dict,
    "needs_key": bool,
    "returns_thinking": bool,
    "cuts_silently": bool,
}
_INFO_FIELDS = (
    "context_tokens",
    "max_output_tokens",
    "has_tools",
    "has_images",
    "has_prompt_cache",
    "small",
)


@cache
def builtin_catalog() -> ModelCatalog:
    """The table that comes with Wellkept."""
    text = files("wellkept.models.chat").joinpath("data/models.toml").read_text(encoding="utf-8")
    return ModelCatalog(tomllib.loads(text))


def load_catalog(own: Path | None = None) -> ModelCatalog:
    """The built-in table with the user's file on top, when there is one."""
    if own is None or not own.is_file():
        return builtin_catalog()
    try:
        table = tomllib.loads(own.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"{own} cannot be read: {error}.") from error
    return builtin_catalog().extended(table, source=str(own))


def _row(provider: str, model: str, merged: Mapping[str, Any]) -> ModelRow:
    # Beside tools such a model is sent no effort, and an agent has tools: it takes no level.
    is_told = merged.get("thinking", "none") != "none" and not merged.get("no_effort_with_tools")
    support = ThinkingSupport(
        levels=tuple(map(str, merged.get("levels", ()))) if is_told else (),
        default=merged.get("default_level"),
        max_budget=merged.get("max_budget"),
        deep_budget=merged.get("deep_budget"),
        ultra_budget=merged.get("ultra_budget"),
    )
    facts: dict[str, Any] = {key: merged[key] for key in _INFO_FIELDS if key in merged}
    info = ModelInfo(name=model, provider=provider, thinking=support, **facts)
    return ModelRow(
        info=info,
        thinking=merged.get("thinking", "none"),
        efforts=merged.get("efforts", _SAME_EFFORTS),
        off=merged.get("off"),
        no_effort_with_tools=bool(merged.get("no_effort_with_tools", False)),
    )


def _specificity(pattern: str) -> float:
    """How much of a name a pattern fixes: a letter counts whole, a class of letters half."""
    plain = re.sub(r"\[[^]]*\]", "?", pattern).replace("*", "")
    return len(plain) - plain.count("?") / 2


def _table(value: object, source: str, place: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise _wrong(source, f"{place} must be a table")
    return cast("Mapping[str, Any]", value)


def _list(value: object, source: str, place: str) -> list[object]:
    if not isinstance(value, list):
        raise _wrong(source, f"{place} must be a list of tables: [[{place}]]")
    return cast("list[object]", value)


def _wrong(source: str, problem: str) -> UsageError:
    return UsageError(f"{source}: {problem}.")
