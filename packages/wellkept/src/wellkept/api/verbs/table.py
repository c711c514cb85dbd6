"""Every verb by its words or by the name of its tool. Finding one imports its room's verbs only."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager, nullcontext
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from wellkept.api.verbs.index import TOOLS, VERBS
from wellkept.core.team.people import Role
from wellkept.core.verbs import Verb

if TYPE_CHECKING:
    from wellkept.api import Wellkept

ROOMS: Final = (
    "wellkept.memory.verbs",
    "wellkept.observe.verbs",
    "wellkept.context.pack_verbs",
    "wellkept.context.verbs",
    "wellkept.context.start.verbs",
    "wellkept.context.pages.verbs",
    "wellkept.graph.verbs",
    "wellkept.skills.verbs",
    "wellkept.skills.authoring.verbs",
    "wellkept.api.wiring.verbs",
    "wellkept.api.maintenance.verbs",
)
"""Modules with verbs; `index.py` is made from them."""

DRY_RUN, CONFIRM, PROGRESS = "dry_run", "confirm", "progress"


def find(words: str) -> Verb:
    """The verb of these words; KeyError when there is none."""
    module, function, *_ = VERBS[words]
    found: Verb = getattr(import_module(module), function).verb
    return found


def find_tool(name: str) -> tuple[Verb, Mapping[str, Any]] | None:
    """The verb of a tool by any of its names, and what that name presets."""
    if name not in TOOLS:
        return None
    verb = find(TOOLS[name])
    own = [one.preset for one in verb.aliases if one.name == name]
    return verb, {**verb.preset, **(own[0] if own else {})}


def is_job(verb: Verb) -> bool:
    """Whether a verb tells how far it is: it has a parameter `progress`."""
    code = verb.function.__code__
    return PROGRESS in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


def run(verb: Verb, wk: Wellkept, arguments: Mapping[str, Any]) -> Any:
    """Call a verb for whoever asks; ForbiddenError when they may not."""
    from wellkept.api.server.access import Access, require_access

    require_access(Access(role=verb.role, on_files=verb.on_files), what=verb.words.capitalize())
    return called(verb, wk, **arguments)


def called(verb: Verb, wk: Wellkept, /, *args: Any, **kwargs: Any) -> Any:
    """Call a verb. One that any reader may call makes no store."""
    with for_reading(wk) if verb.role is Role.READER else nullcontext(wk) as known:
        return verb.function(known, *args, **kwargs)


@contextmanager
def for_reading(wk: Wellkept) -> Generator[Wellkept]:
    """A memory; where there is no store yet an empty one, since reading makes no file."""
    if wk.services.is_there or wk.services.read_only:
        yield wk
        return
    with wk.services.emptied() as empty, type(wk)(empty) as nothing:
        yield nothing


def remarks(result: Any, *, options: bool) -> list[str]:
    """What is said beside a result: its notes, and how to get more of it."""
    more: Mapping[str, Any] = getattr(result, "more", None) or {}
    said = [f"--{name} {value}" if options else f"{name}={value}" for name, value in more.items()]
    return [*getattr(result, "notes", ()), *([f"More: {' '.join(said)}"] if said else [])]
