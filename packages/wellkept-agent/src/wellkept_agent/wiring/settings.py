"""The settings of the agent: the table `[agent]` of the user's file, and environment variables.

    [agent]
    model = "anthropic:claude-sonnet-4-5"
    max_steps = 60

    [agent.budgets]
    memories_tokens = 800

Each area of the runtime has a record of its own; `AREAS` names them. The file that comes with a
project may set none of these: it may have been written by a stranger.
"""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from wellkept.core.errors import UsageError
from wellkept.core.records import record
from wellkept.core.settings.model import setting
from wellkept_agent.settings import load, table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wellkept.core.settings.model import SettingRule, Settings

_T = TypeVar("_T")


@record(kw_only=True)
class ModelChoice:
    """The model that is used when none is named, and how it is reached."""

    model: str = setting("", "Model to use, as provider:name; empty asks for one")
    base_url: str = setting("", "Address of the model's server; empty is the vendor's")
    api_key: str = setting("", "Key of the model; empty is the vendor's variable", secret=True)
    models_file: str = setting("", "A table of your own models, as TOML")
    context_tokens: int = setting(0, "Context of the model; 0 is what its table says", "0..")
    small: bool | None = setting(None, "Whether the model is small, so that less is told")


AREAS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "": (
            "wellkept_agent.wiring.settings:ModelChoice",
            "wellkept_agent.settings:LoopSettings",
            "wellkept_agent.flags:FeatureFlags",
        ),
        "recall": ("wellkept_agent.recall.settings:RecallSettings",),
        "budgets": ("wellkept_agent.budgets:PromptBudgets",),
        "tools": ("wellkept_agent.tools.settings:ToolSettings",),
        "plan_mode": ("wellkept_agent.plan_mode.settings:PlanModeSettings",),
        "thinking": ("wellkept_agent.thinking.settings:ThinkingSettings",),
        "mcp": ("wellkept_agent.mcp_client.settings:McpSettings",),
        "compaction": ("wellkept_agent.compaction.settings:CompactionSettings",),
        "session_memory": ("wellkept_agent.session_memory.settings:SessionMemorySettings",),
        "file_cache": ("wellkept_agent.file_cache:FileCacheSettings",),
    }
)
"""Sub-table of `[agent]` -> the records that its keys belong to; "" is the table itself."""


class AgentSettings:
    """The agent's settings of one user, checked as a whole."""

    def __init__(self, values: Mapping[str, object], environment: Mapping[str, str]) -> None:
        """`values` are those of the table `[agent]`, by dotted key."""
        self._values = values
        self._environment = environment
        known = {name for name, *_ in documented()}
        for name in values:
            if name not in known:
                close = get_close_matches(name, known, n=1)
                raise UsageError(
                    f"There is no setting 'agent.{name}'.",
                    hint=f"Did you mean agent.{close[0]}?"
                    if close
                    else "See `wellkept config show --agent`.",
                )

    @classmethod
    def of(cls, settings: Settings, environment: Mapping[str, str]) -> AgentSettings:
        """The settings of the agent in the settings of this user."""
        return cls(settings.agent, environment)

    def read(self, kind: type[_T]) -> _T:
        """One area's settings."""
        area = next(area for area, kinds in _kinds().items() if kind in kinds)
        prefix = f"{area}." if area else ""
        own = {name for name, *_ in table(kind)}
        values = {
            rest: value
            for name, value in self._values.items()
            if name.startswith(prefix) and (rest := name.removeprefix(prefix)) in own
        }
        return load(kind, values=values, environment=self._environment)


def documented() -> Iterator[tuple[str, object, SettingRule]]:
    """Every setting of the agent: dotted name without `agent.`, default and description."""
    for key, _, _, default, doc in documented_fields():
        yield key, default, doc


def documented_fields() -> Iterator[tuple[str, type[Any], str, object, SettingRule]]:
    """Every setting with the record and the field that hold it: dotted name, record, field,
    default, description."""
    for area, kinds in _kinds().items():
        for kind in kinds:
            for name, default, doc in table(kind):
                yield (f"{area}.{name}" if area else name), kind, name, default, doc


def variables() -> frozenset[str]:
    """The environment variables of all these settings."""
    return frozenset(one for _, _, doc in documented() for one in doc.variables)


@cache
def _kinds() -> Mapping[str, tuple[type[Any], ...]]:
    return {area: tuple(map(_named, names)) for area, names in AREAS.items()}


def _named(path: str) -> type[Any]:
    module, _, name = path.partition(":")
    return cast("type[Any]", getattr(import_module(module), name))
