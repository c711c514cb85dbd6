"""Ports: doors to the other distributions, where records and ports of `core` say it all.

`wellkept.core.doors` finds who answers. Rooms that hand over their own types declare such doors
beside the caller.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from wellkept.core.clock import Clock
    from wellkept.core.ports.skills import SkillDocuments
    from wellkept.core.ports.store import KeyValueStore, Store
    from wellkept.core.settings.model import Settings
    from wellkept.core.settings.toml_file import Scalar
    from wellkept.core.team.records import TeamPolicy


class SettingKey(Protocol):
    """One of the agent's settings."""

    @property
    def key(self) -> str: ...

    @property
    def secret(self) -> bool: ...

    def parse(self, text: str) -> Scalar:
        """A value for the settings file; UsageError says what does not fit."""
        ...

    def current(
        self, settings: Settings, environment: Mapping[str, str]
    ) -> tuple[Scalar | None, str]:
        """The value in force and where it comes from."""
        ...


class AgentSettingDoors(Protocol):
    """The agent's settings."""

    def setting_variables(self) -> Collection[str]:
        """Their variables of the environment."""
        ...

    def setting_key(self, key: str) -> SettingKey: ...

    def setting_keys(self) -> Sequence[SettingKey]: ...

    def check_settings(self, settings: Settings, environment: Mapping[str, str]) -> Sequence[str]:
        """What is ignored; UsageError for a value that does not fit."""
        ...


class TeamStoreDoors(Protocol):
    """The engine on PostgreSQL, and what a store keeps for a team."""

    def open_store(
        self, url: str, *, busy_timeout_ms: int, read_only: bool, clock: Clock, tenant: str
    ) -> Store: ...

    def policy(self, store: KeyValueStore, project: str) -> TeamPolicy | None:
        """The team's policy as of the last sync."""
        ...

    def managed_skills(self, store: KeyValueStore, project: str) -> SkillDocuments: ...
