"""Context for questions of any project, through the library's own door: `wellkept.open`.

Opens a memory for the folder that a question comes from. A live process keeps the last few open;
the hook process asks once and is gone. A database that does not exist is not made by asking.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from wellkept.clients.answers.answer import RenderedContext
from wellkept.clients.answers.context_request import HookContextRequest
from wellkept.core.errors import UsageError, WellkeptError

if TYPE_CHECKING:
    from wellkept.app.facade import Wellkept

MAX_OPEN = 8
MAX_CHARS = 9_000
SMALL_BUDGET_TOKENS = 250
SKILLS_WITHIN_S = 0.15


class MemoryContext:
    """Answers questions from memory; `open_in` opens the memory of a folder, None for none.

    Skills that are not found within their time are left out: memory does not wait for them.
    """

    def __init__(
        self,
        open_in: Callable[[Path], Wellkept | None],
        *,
        skills_within_s: float = SKILLS_WITHIN_S,
    ) -> None:
        self._open_in = open_in
        self._skills_within_s = skills_within_s
        self._open: OrderedDict[Path, Wellkept] = OrderedDict()
        self._lock = Lock()

    def __call__(self, question: HookContextRequest, shown: frozenset[str]) -> RenderedContext:
        """What is worth saying to a question."""
        from wellkept.memory.context.packing import render_context

        memory = self._memory(Path(question.cwd) if question.cwd else Path.cwd())
        if memory is None:
            return RenderedContext()
        try:
            pack = memory.context(
                question.query,
                moment=question.moment,
                files=question.files,
                budget_tokens=None if question.moment == "session" else SMALL_BUDGET_TOKENS,
                max_chars=MAX_CHARS,
                shown=shown,
                session=question.session,
                skills_within_s=self._skills_within_s,
            )
        except UsageError:
            # A file outside the project, or a folder that is gone: nothing is known about it.
            return RenderedContext()
        said = (*(item.memory.id for item in pack.items), *(extra.id for extra in pack.extras))
        return RenderedContext(render_context(pack), said)

    def close(self) -> None:
        """Let go of every memory that is open."""
        with self._lock:
            opened, self._open = self._open, OrderedDict()
        for memory in opened.values():
            memory.close()

    def _memory(self, folder: Path) -> Wellkept | None:
        with self._lock:
            memory = self._open.pop(folder, None) or self._opened(folder)
            if memory is not None:
                self._open[folder] = memory
            spare = self._open.popitem(last=False)[1] if len(self._open) > MAX_OPEN else None
        if spare is not None:
            spare.close()
        return memory

    def _opened(self, folder: Path) -> Wellkept | None:
        memory = self._open_in(folder)
        if memory is not None:
            # Asked for here, so that the store is opened once and not by several threads.
            _ = memory.project
        return memory


def existing_memory(
    folder: Path,
    *,
    environment: Mapping[str, str],
    busy_timeout_ms: int,
    with_skills: bool = False,
) -> Wellkept | None:
    """The memory of a folder, to be read by words alone; None when nothing was ever kept.

    Skills are for a process that lives on: to find and read them takes longer than everything else
    that a hook process does.
    """
    from wellkept.app.settings.sources import SettingSources, load_settings
    from wellkept.app.wiring.services import open as open_memory
    from wellkept.app.wiring.services import store_path

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
    return open_memory(
        cwd=folder, embedder="none", settings=settings, environment=environment, read_only=True
    )
