"""Context for hook requests of any project, read from its store.

A long-lived process keeps the last few projects open; the hook process asks once and exits. A store
that does not exist is not created. Whose memory a folder may read is looked up, never decided here:
a folder that nobody decided for yet gets only what the user said about themselves.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from wellkept.core.errors import UsageError, WellkeptError
from wellkept.core.hook_context import ContextLine, HookContext, HookContextRequest
from wellkept.core.records import replace

if TYPE_CHECKING:
    from wellkept.app.wellkept import Wellkept
    from wellkept.memory.context.packing import ContextPack

MAX_OPEN_PROJECTS = 8
MAX_CHARS = 9_000
PROMPT_BUDGET_TOKENS = 120
COMMAND_BUDGET_TOKENS = 200
_BUDGETS = {
    "session": None,
    "prompt": PROMPT_BUDGET_TOKENS,
    "file": PROMPT_BUDGET_TOKENS,
    "command": COMMAND_BUDGET_TOKENS,
    "failure": COMMAND_BUDGET_TOKENS,
}
"""Room for what nobody asked for; None is the setting."""
_AT_FAILURE = "failure:"
SKILL_TIMEOUT_S = 0.15


def _told_before(request: HookContextRequest, shown: frozenset[str]) -> frozenset[str]:
    """What is not told again. Who fails all the same has missed what the session start said: at a
    failure only what was told at one counts."""
    if request.moment != "failure":
        return shown
    return frozenset(one.removeprefix(_AT_FAILURE) for one in shown if one.startswith(_AT_FAILURE))


class HookContextProvider:
    """Builds context for requests; `open_project` opens a folder's store, None when it has none.

    Skills that are not found within `skill_timeout_s` are left out: memories do not wait for them.
    """

    def __init__(
        self,
        open_project: Callable[[Path], Wellkept | None],
        *,
        skill_timeout_s: float = SKILL_TIMEOUT_S,
    ) -> None:
        self._open_project = open_project
        self._skill_timeout_s = skill_timeout_s
        self._projects: OrderedDict[Path, Wellkept] = OrderedDict()
        self._retired: list[Wellkept] = []
        self._lock = Lock()

    def __call__(self, request: HookContextRequest, shown: frozenset[str]) -> HookContext:
        """Context for a request, without the ids in `shown`."""
        asked = _silenced(request, shown)
        if asked is None:
            return HookContext()
        request, quiet = asked
        wk = self._project(Path(request.cwd) if request.cwd else Path.cwd())
        if wk is None:
            return HookContext()
        try:
            return self._context(wk, request, shown, quiet=quiet)
        finally:
            if wk.services.is_undecided:
                wk.close()

    def _context(
        self, wk: Wellkept, request: HookContextRequest, shown: frozenset[str], *, quiet: bool
    ) -> HookContext:
        from wellkept.memory.context.packing import render_context

        try:
            pack = wk.context(
                request.query,
                moment=request.moment,
                files=request.files,
                budget_tokens=_BUDGETS.get(request.moment),
                max_chars=MAX_CHARS,
                shown=_told_before(request, shown),
                session=request.session,
                skills_within_s=self._skill_timeout_s,
                output=request.output,
                reading=request.reading,
                quiet=quiet,
                client=request.client,
            )
        except UsageError:
            # A file outside the project, or a deleted folder.
            return HookContext()
        ids = pack.ids
        if request.moment == "failure":
            ids = (*ids, *(f"{_AT_FAILURE}{one}" for one in ids))
        return HookContext(
            render_context(pack), ids, injected_lines(pack), pack.project, pack.used_tokens
        )

    def close(self) -> None:
        """Close every open project."""
        with self._lock:
            projects = [*self._projects.values(), *self._retired]
            self._projects, self._retired = OrderedDict(), []
        for wk in projects:
            wk.close()

    def _project(self, folder: Path) -> Wellkept | None:
        with self._lock:
            wk = self._projects.pop(folder, None)
            if wk is not None and not wk.services.is_current():
                # Another thread may be using it.
                self._retired.append(wk)
                wk = None
            wk = wk or self._opened(folder)
            if wk is not None and not wk.services.is_undecided:
                self._projects[folder] = wk
            full = len(self._projects) > MAX_OPEN_PROJECTS
            oldest = self._projects.popitem(last=False)[1] if full else None
        if oldest is not None:
            oldest.close()
        return wk

    def _opened(self, folder: Path) -> Wellkept | None:
        wk = self._open_project(folder)
        if wk is not None:
            # Resolve the project under the lock, so that only one thread opens the store.
            _ = wk.project
        return wk


def _silenced(
    request: HookContextRequest, shown: frozenset[str]
) -> tuple[HookContextRequest, bool] | None:
    """The request as it is answered and whether quietly; None for silence.

    A resumed session still has what it was told at its start.
    """
    if request.moment == "session":
        return None if shown and not request.fresh else (request, False)
    if request.moment != "prompt":
        return request, False
    from wellkept.app.observer.unasked import PromptKind, named_files, prompt_kind

    # The prompt of a sub-agent is the brief of the agent that started it.
    match PromptKind.BRIEF if request.agent else prompt_kind(request.query):
        case PromptKind.NOTICE:
            return None
        case PromptKind.BRIEF:
            files = named_files(request.query, cwd=request.cwd)
            told = replace(request, moment="file", query="", files=files, reading=True)
            return (told, False) if files else None
        case PromptKind.SHORT:
            return request, True
        case PromptKind.PLAIN:
            return request, False


def injected_lines(pack: ContextPack) -> tuple[ContextLine, ...]:
    """The lines of a pack for the log of injections, in the order of the text."""
    lines = [
        ContextLine(line.line, line.section.value, line.id, None, line.reason)
        for line in pack.lines
    ]
    items = [
        # A note of this session has an id, but is not stored as a memory yet.
        ContextLine(
            item.line,
            item.memory.type.value,
            item.memory.id,
            item.memory.id if item.citation.startswith("m:") else None,
            item.reason,
        )
        for item in pack.items
    ]
    extras = [
        ContextLine(extra.line, "skill", extra.id, None, extra.reason) for extra in pack.extras
    ]
    order = {name: number for number, name in enumerate(pack.ids)}
    return tuple(sorted((*lines, *items, *extras), key=lambda line: order[line.id]))


def open_existing(
    folder: Path,
    *,
    environment: Mapping[str, str],
    busy_timeout_ms: int,
    with_skills: bool = False,
) -> Wellkept | None:
    """A folder's store, read-only and searched by words; None when there is no store.

    Leave skills out in the hook process: finding them takes longer than the rest of its work.
    """
    from wellkept.app.settings.sources import SettingSources, load_settings
    from wellkept.app.wellkept import Wellkept
    from wellkept.app.wiring.services import Services, store_path
    from wellkept.core.clock import system_clock

    explicit: dict[str, str | int] = {
        "store.busy_timeout_ms": busy_timeout_ms,
        "recall.mode": "words",
    }
    if not with_skills:
        explicit["context.skills"] = "off"
    try:
        settings = load_settings(SettingSources.of(environment, cwd=folder), explicit=explicit)
    except WellkeptError:
        return None
    if not store_path(settings, environment).is_file():
        return None
    return Wellkept(
        Services(
            settings,
            path=store_path(settings, environment),
            project=settings.project,
            folder=folder,
            embedder="none",
            clock=system_clock,
            environment=environment,
            read_only=True,
            by_files_only=True,
        )
    )
