"""The agent's settings one by one, as `wellkept config` shows and changes them.

A value is checked by the same rule that reads it at the start of an agent.
"""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, cast

from wellkept.core.errors import UsageError
from wellkept.core.records import record
from wellkept.core.settings.sources import AGENT_PREFIX
from wellkept_agent.settings import load
from wellkept_agent.wiring.settings import documented_fields

if TYPE_CHECKING:
    from wellkept.core.settings.model import SettingRule, Settings
    from wellkept.core.settings.toml_file import Scalar


@record(kw_only=True)
class AgentKey:
    """One setting of the agent; `kind` is the record that holds it as `name`."""

    key: str
    name: str
    kind: type[Any]
    default: object
    doc: SettingRule

    @property
    def secret(self) -> bool:
        """Whether the value is never printed."""
        return self.doc.secret

    def parse(self, text: str) -> Scalar:
        """A value for the settings file; UsageError says what does not fit."""
        text = text.strip()
        return _plain(self._read(text) if text else text)

    def current(
        self, settings: Settings, environment: Mapping[str, str]
    ) -> tuple[Scalar | None, str]:
        """The value in force and where it comes from. A wrong one raises UsageError."""
        for variable in self.doc.variables:
            if variable in environment:
                return _plain(self._read(environment[variable])), variable
        name = self.key.removeprefix(AGENT_PREFIX)
        if name in settings.agent:
            return _plain(self._read(settings.agent[name])), settings.origin(self.key)
        return (None if self.default is None else _plain(self.default)), "default"

    def _read(self, given: object) -> object:
        return getattr(load(self.kind, values={self.name: given}), self.name)


def agent_keys() -> list[AgentKey]:
    """All of them, in the order of the docs."""
    return [
        AgentKey(key=f"{AGENT_PREFIX}{key}", name=name, kind=kind, default=default, doc=doc)
        for key, kind, name, default, doc in documented_fields()
    ]


def agent_key(key: str) -> AgentKey:
    """One by its dotted name; for an unknown one the error names the closest."""
    known = {one.key: one for one in agent_keys()}
    if key not in known:
        close = get_close_matches(key, list(known), n=1, cutoff=0.6)
        raise UsageError(
            f"There is no setting {key!r}.",
            hint=f"Did you mean {close[0]}?"
            if close
            else "`wellkept config show --agent` lists them.",
        )
    return known[key]


def _plain(value: object) -> Scalar:
    """A value as a settings file and a terminal have it; lists are separated by commas."""
    if isinstance(value, tuple):
        return ", ".join(map(str, cast("tuple[object, ...]", value)))
    if isinstance(value, bool | int | float):
        return value
    return str(value)
