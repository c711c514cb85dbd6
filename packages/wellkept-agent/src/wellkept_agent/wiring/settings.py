"""The settings of the agent: the table `[agent]` of the user's file, and environment variables.

    [agent]
    model = "anthropic:claude-sonnet-4-5"
    max_steps = 60

    [agent.tools]
    profile = "read_only"

Each area of the runtime has a record of its own; `AREAS` names them. The file that comes with a
project may set none of these: it may have been written by a stranger.
"""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar, cast

from wellkept.core.errors import UsageError
from wellkept.core.records import fields, record
from wellkept.core.settings.model import no_longer, setting
from wellkept.core.settings.sources import AGENT_PREFIX
from wellkept_agent.settings import load, table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wellkept.core.ports.models import AgentModel
    from wellkept.core.settings.model import SettingRule, Settings
    from wellkept.core.settings.toml_file import Scalar


_T = TypeVar("_T")


@record(kw_only=True)
class ModelChoice:
    """The model that is used when none is named, and how it is reached."""

    model: str = setting(
        "", "Model to use, as provider:name; empty asks for one", why="the agent needs one"
    )
    base_url: str = setting(
        "", "Address of the model's server; empty is the vendor's", why="a server of your own"
    )
    api_key: str = setting(
        "",
        "Key of the model; empty is the vendor's variable",
        secret=True,
        why="a key kept in this file",
    )
    models_file: str = setting(
        "", "A table of your own models, as TOML", why="models that our table does not know"
    )
    context_tokens: int = setting(
        0,
        "Context of the model; 0 is what its table says",
        "0..",
        why="a model that our table does not know",
    )


AREAS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "": (
            "wellkept_agent.wiring.settings:ModelChoice",
            "wellkept_agent.settings:LoopSettings",
            "wellkept_agent.settings:FeatureFlags",
        ),
        "budgets": ("wellkept_agent.budgets:PromptBudgets",),
        "tools": ("wellkept_agent.settings:ToolSettings",),
        "plan_mode": ("wellkept_agent.plan_mode:PlanModeSettings",),
        "thinking": ("wellkept_agent.thinking:ThinkingSettings",),
        "mcp": ("wellkept_agent.settings:McpSettings",),
        "compaction": ("wellkept_agent.settings:CompactionSettings",),
        "session_memory": ("wellkept_agent.session_memory:SessionMemorySettings",),
    }
)
"""Sub-table of `[agent]` -> the records that its keys belong to; "" is the table itself."""
_GONE: Final = MappingProxyType(
    {
        "small": "what the table of models says",
        "recall.warn_before_run": "what capture.before_tools says",
        "file_cache.budget_tokens": "50000",
        "session_memory.max_steps": "one call an update",
        "compaction.auto_compact_ratio": "the window less 13,000 tokens",
    }
)
"""What was a setting and is no field any more, and what holds now."""


class AgentSettings:
    """The agent's settings of one user, checked as a whole."""

    def __init__(self, values: Mapping[str, object], environment: Mapping[str, str]) -> None:
        """`values` are those of the table `[agent]`, by dotted key."""
        self._values = values
        self._environment = environment
        known = {name for name, *_ in documented()}
        gone = retired()
        said = [name for name in gone if name in values or gone[name].variable in environment]
        self.notes = tuple(gone[name].note for name in said)
        for name in values:
            if name not in known and name not in gone:
                close = get_close_matches(name, known, n=1)
                raise UsageError(
                    f"There is no setting 'agent.{name}'.",
                    hint=f"Did you mean agent.{close[0]}?"
                    if close
                    else "See `wellkept config list --agent`.",
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


def open_named_model(
    name: str, settings: AgentSettings, environment: Mapping[str, str]
) -> AgentModel:
    """A model by its name, reached as the settings say."""
    from wellkept.models.chat.open import AgentModelSettings, open_model

    choice = settings.read(ModelChoice)
    return open_model(
        name,
        environment=environment,
        settings=AgentModelSettings(
            base_url=choice.base_url or None,
            api_key=choice.api_key or None,
            context_tokens=choice.context_tokens or None,
            models_file=Path(choice.models_file).expanduser() if choice.models_file else None,
        ),
    )


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


class _Retired(NamedTuple):
    """What was a setting once: it is ignored, and that is said."""

    note: str
    variable: str


def retired() -> Mapping[str, _Retired]:
    """By dotted name: fields that no file and no variable sets, and what is no field any more."""
    held: dict[str, tuple[object, str]] = {name: (now, "") for name, now in _GONE.items()}
    for area, kinds in _kinds().items():
        for kind in kinds:
            for one in fields(kind):
                if "rule" not in one.metadata:
                    name = f"{area}.{one.name}" if area else one.name
                    held[name] = one.default, getattr(kind, "VARIABLES", "")
    return {
        name: _Retired(
            no_longer(f"agent.{name}", str(now)),
            f"WELLKEPT_AGENT_{prefix}{name.rpartition('.')[2].upper()}",
        )
        for name, (now, prefix) in held.items()
    }


def variables() -> frozenset[str]:
    """The environment variables of all these settings, past ones too."""
    known = {one for _, _, doc in documented() for one in doc.variables}
    return frozenset(known | {one.variable for one in retired().values()})


@cache
def _kinds() -> Mapping[str, tuple[type[Any], ...]]:
    return {area: tuple(map(_named, names)) for area, names in AREAS.items()}


def _named(path: str) -> type[Any]:
    module, _, name = path.partition(":")
    return cast("type[Any]", getattr(import_module(module), name))


# -- The agent's settings one by one, as `wellkept config` shows and changes them -----------------


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
    if gone := retired().get(key.removeprefix(AGENT_PREFIX)):
        raise UsageError(gone.note)
    if key not in known:
        close = get_close_matches(key, list(known), n=1, cutoff=0.6)
        raise UsageError(
            f"There is no setting {key!r}.",
            hint=f"Did you mean {close[0]}?"
            if close
            else "`wellkept config list --agent` lists them.",
        )
    return known[key]


def _plain(value: object) -> Scalar:
    """A value as a settings file and a terminal have it; lists are separated by commas."""
    if isinstance(value, tuple):
        return ", ".join(map(str, cast("tuple[object, ...]", value)))
    if isinstance(value, bool | int | float):
        return value
    return str(value)
