"""Loads plugins and collects the methodologies they register.

Packages register under the entry point group `wellkept`; what comes with Wellkept uses the same
hooks and is loaded in the same way. A plugin that fails to load or is invalid is reported and
skipped; memory keeps working. It loads pluggy and every plugin, so recall and hooks must not
import this module.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, TypeVar, cast

import pluggy

from wellkept.core.codec import Json
from wellkept.core.errors import NotFoundError, PluginError, WellkeptError
from wellkept.core.memory import Memory, WorkUnitRef
from wellkept.core.payloads import WorkUnitOutcome
from wellkept.core.records import record, replace
from wellkept.core.text import shorten
from wellkept.core.types import MemoryType, Phase
from wellkept.observe.methodology import builtin
from wellkept.observe.methodology.hookspecs import GROUP, Hooks
from wellkept.observe.methodology.protocol import (
    CompletesWorkUnits,
    CustomType,
    Methodology,
    Relay,
    WorkContext,
)

SHIPPED = tuple(
    EntryPoint(name, value, GROUP)
    for name, value in (
        ("wellkept-browser", "wellkept_plugins.browser"),
        ("wellkept-methodologies", "wellkept_plugins.methodologies"),
    )
)
"""The plugins in the wheel of Wellkept itself, which need no entry in its metadata."""
_ID = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")


@record
class Plugins:
    """Methodologies by id, the plugin each came from, problems, and the manager of all hooks."""

    methodologies: dict[str, Methodology]
    origins: dict[str, str]
    manager: pluggy.PluginManager
    problems: tuple[str, ...] = ()

    def methodology(self, id: str) -> Methodology:
        """A methodology by id; for an unknown one the error lists the choices."""
        found = self.methodologies.get(id)
        if found is None:
            known = ", ".join(sorted(self.methodologies))
            raise NotFoundError(
                f"There is no methodology {id!r}.",
                hint=f"Choose one of: {known}; others come with the packages that bring them.",
            )
        return found

    def custom_type(self, name: str) -> tuple[CustomType, str] | None:
        """A type that some methodology adds, in use or not, and the tag it is stored with."""
        methodology, _, bare = name.strip().lower().rpartition(":")
        for one in self.methodologies.values():
            for custom in one.custom_types:
                if custom.name == bare and methodology in ("", one.id):
                    return custom, custom.tag(one.id)
        return None

    def call(self, hook: str, **arguments: object) -> tuple[list[Any], list[str]]:
        """What each plugin answers at a hook, and the problems of those that failed."""
        answers: list[Any] = []
        problems: list[str] = []
        for name, plugin in self.manager.list_name_plugin():
            answers += _answers(self.manager, name, plugin, hook, problems, **arguments)
        return answers, problems


@cache
def installed_plugins() -> Plugins:
    """The plugins of Wellkept and of installed packages; loaded once."""
    return load_plugins(entry_points(group=GROUP))


def load_plugins(found: Iterable[EntryPoint] = ()) -> Plugins:
    """The plugins of Wellkept, and those of the entry points."""
    manager = pluggy.PluginManager(GROUP)
    manager.add_hookspecs(Hooks)
    manager.register(builtin, name=GROUP)
    problems: list[str] = []
    for entry in (*SHIPPED, *sorted(found, key=lambda entry: entry.name)):
        try:
            manager.register(entry.load(), name=entry.name)
            manager.check_pending()
        except Exception as error:  # noqa: BLE001 - third-party code may fail in any way
            manager.unregister(name=entry.name)
            reason = f"{type(error).__name__}: {error}"
            problems.append(f"The plugin {entry.name} cannot be loaded: {reason}")
    return _gathered(manager, problems)


def _gathered(manager: pluggy.PluginManager, problems: Sequence[str]) -> Plugins:
    methodologies: dict[str, Methodology] = {}
    origins: dict[str, str] = {}
    wrong = list(problems)
    for name, plugin in manager.list_name_plugin():
        answers = _answers(manager, name, plugin, "wellkept_methodologies", wrong)
        for offered in cast("list[Methodology]", answers):
            fault = _fault(offered)
            if not fault and (holder := origins.get(offered.id)):
                fault = f"brings {offered.id!r}, which {holder} has brought already"
            if fault:
                wrong.append(f"The plugin {name} {fault}, so it is left out.")
            else:
                kept = offered if name == GROUP else GuardedMethodology.of(offered)
                methodologies[offered.id], origins[offered.id] = kept, name
    return Plugins(methodologies, origins, manager, tuple(wrong))


def _answers(
    manager: pluggy.PluginManager,
    name: str,
    plugin: object,
    hook: str,
    wrong: list[str],
    **arguments: object,
) -> list[Any]:
    """What one plugin answers, called alone so that its failure affects no other."""
    others = [one for _, one in manager.list_name_plugin() if one is not plugin]
    ask = manager.subset_hook_caller(hook, remove_plugins=others)
    try:
        # A generator runs, and may fail, here.
        return [one for answer in ask(**arguments) for one in answer or ()]
    except WellkeptError:
        raise
    except Exception as error:  # noqa: BLE001 - third-party code may fail in any way
        wrong.append(f"The plugin {name} failed: {type(error).__name__}: {error}")
        return []


def _fault(methodology: Methodology) -> str | None:
    """What is wrong with a methodology, as far as its attributes show."""
    try:
        if not _ID.fullmatch(methodology.id):
            return f"brings a methodology with the id {methodology.id!r}"
        if not _all_are(Phase, methodology.phases.values()):
            return f"maps phases of {methodology.id!r} to something else than the six phases"
        if not _all_are(MemoryType, (one.kept_as for one in methodology.custom_types)):
            return f"keeps types of {methodology.id!r} as types that do not exist"
        missing = [name for name in _METHODS if not callable(getattr(methodology, name, None))]
        return f"brings {methodology.id!r} without {', '.join(missing)}" if missing else None
    except (AttributeError, TypeError) as error:
        return f"brings something that is no methodology ({error})"


def _all_are(kind: type, values: Iterable[object]) -> bool:
    return all(isinstance(value, kind) for value in values)


_METHODS = ("work_unit", "relay_text", "work_state", "state_text")

# -- Guards ---------------------------------------------------------------------------------------

MAX_TEXT_CHARS = 4_000
MAX_STATE_CHARS = 20_000
_Result = TypeVar("_Result")


@record(kw_only=True)
class GuardedMethodology:
    """Wraps a `Methodology`. What it fails at, or gives in a wrong type or size, raises PluginError
    when a person asked. With `forgiving`, the native one answers instead."""

    inner: Methodology
    id: str
    title: str
    phases: Mapping[str, Phase]
    relays: Sequence[Relay]
    custom_types: Sequence[CustomType]
    forgiving: bool = False

    @classmethod
    def of(cls, inner: Methodology) -> GuardedMethodology:
        """The methodology, guarded."""
        return cls(
            inner=inner,
            id=inner.id,
            title=inner.title,
            phases=inner.phases,
            relays=inner.relays,
            custom_types=inner.custom_types,
        )

    def work_unit(self, at: WorkContext) -> WorkUnitRef | None:
        """The current work unit."""
        return self._call("work_unit", lambda: _unit(self.inner.work_unit(at)), None)

    def relay_text(self, memories: Sequence[Memory], *, to: str) -> str:
        """The handed-on memories as text."""
        plain = builtin.NATIVE.relay_text(memories, to=to)
        return self._call(
            "relay_text", lambda: _text(self.inner.relay_text(memories, to=to)), plain
        )

    def work_state(self, text: str) -> Mapping[str, Json]:
        """The work state."""
        return self._call("work_state", lambda: _state(self.inner.work_state(text)), {})

    def state_text(self, state: Mapping[str, Json]) -> str:
        """A work state as text."""
        plain = builtin.NATIVE.state_text(state)
        return self._call("state_text", lambda: _text(self.inner.state_text(state)), plain)

    def on_work_unit_complete(
        self, unit: WorkUnitRef | None, outcome: WorkUnitOutcome
    ) -> Mapping[str, Json]:
        """Fields that the methodology adds to an outcome."""
        inner = self.inner
        if not isinstance(inner, CompletesWorkUnits):
            return {}
        return self._call(
            "on_work_unit_complete", lambda: _state(inner.on_work_unit_complete(unit, outcome)), {}
        )

    def _call(self, what: str, ask: Callable[[], _Result], plain: _Result) -> _Result:
        try:
            return ask()
        except Exception as error:
            if self.forgiving:
                return plain
            raise PluginError(
                f"The methodology {self.id!r} failed at {what}: {type(error).__name__}: {error}",
                hint="Update its package, or choose another: `wellkept status --methodologies`.",
            ) from error


def forgiving(methodology: Methodology) -> Methodology:
    """The methodology with failures replaced by the native one."""
    if isinstance(methodology, GuardedMethodology):
        return replace(methodology, forgiving=True)
    return methodology


def _unit(answer: object) -> WorkUnitRef | None:
    if answer is None or (isinstance(answer, WorkUnitRef) and answer.hierarchy):
        return answer
    raise TypeError(f"it returned {type(answer).__name__} instead of a work unit")


def _text(answer: object) -> str:
    if not isinstance(answer, str):
        raise TypeError(f"it returned {type(answer).__name__} instead of text")
    return shorten(answer, limit=MAX_TEXT_CHARS)


def _state(answer: Mapping[str, Json]) -> Mapping[str, Json]:
    written = json.dumps(dict(answer), allow_nan=False)
    if len(written) > MAX_STATE_CHARS:
        raise ValueError(f"its state takes {len(written)} characters, at most {MAX_STATE_CHARS}")
    return json.loads(written)
