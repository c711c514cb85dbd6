"""`Wellkept` methods that show a project to people: health, facets, review, map.

The records are in `wellkept.api.views`; each is loaded on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack, cast

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    from wellkept.api.views.bulk import BulkResult
    from wellkept.api.views.chat import ChatAnswer, Recalls
    from wellkept.api.views.facets import Facets
    from wellkept.api.views.health import HealthView
    from wellkept.api.views.history import MemoryHistory
    from wellkept.api.views.module_map import FileGraph, ModuleMap
    from wellkept.api.views.parts import ProjectParts
    from wellkept.api.views.review import Correction, ReviewGroups
    from wellkept.api.views.session_timeline import SessionTimeline
    from wellkept.api.views.storage import StorageView, WorkUnit
    from wellkept.core.ports.undo import UndoStep
    from wellkept.memory.arguments import FilterArgs


class ViewMethods:
    """Part of `Wellkept`."""

    @property
    def _parts(self) -> ProjectParts:
        return cast("ProjectParts", self)

    def health(self, *, days: int = 30, recent: int = 8, offset_minutes: int = 0) -> HealthView:
        """The project at a glance: totals, score, tokens saved, coverage, series, machinery."""
        from wellkept.api.views.health import health

        return health(self._parts, days=days, recent=recent, offset_minutes=offset_minutes)

    def session_timeline(self, name: str, *, all_projects: bool = False) -> SessionTimeline:
        """A session entry by entry: prompts, observations, lines given, what was learned."""
        from wellkept.api.views.session_timeline import session_timeline

        return session_timeline(self._parts, name, all_projects=all_projects)

    def facets(self, *, labels: int = 50, **filters: Unpack[FilterArgs]) -> Facets:
        """How many memories each further filter would leave, over all that match."""
        from wellkept.api.views.facets import facets
        from wellkept.memory.request_builder import FILTER_KEYS, require_known

        require_known(self.facets, filters, FILTER_KEYS)
        where = self._parts.services.requests.filter(filters)
        return facets(self._parts.engine.store, where, labels=labels)

    def bulk(
        self,
        action: str,
        names: Iterable[str] = (),
        *,
        filters: FilterArgs | None = None,
        reason: str = "",
        importance: float | None = None,
        tags: Iterable[str] = (),
        expected: Mapping[str, datetime] | None = None,
        dry_run: bool = False,
    ) -> BulkResult:
        """Confirm, reject, archive, restore, delete, flag, weigh or tag memories: those that are
        named, or all that match. The result names the id that `undo` takes."""
        from wellkept.api.views.bulk import BulkAction, BulkRequest, bulk, chosen
        from wellkept.core.records import replace
        from wellkept.core.types import parse_choice

        parts = self._parts
        if action == BulkAction.CONFIRM:
            self._parts.services.require_person("Confirming memories")
        request = BulkRequest(
            action=parse_choice(BulkAction, action, what="action"),
            reason=reason,
            importance=importance,
            tags=tuple(tags),
            dry_run=dry_run,
        )
        where = None if filters is None else parts.services.requests.filter(filters)
        if where is not None and request.action is BulkAction.RESTORE:
            where = replace(where, archived=True)
        memories = chosen(parts, names=names, where=where)
        return bulk(parts, request, memories, expected=expected)

    def undo(self, step_id: str) -> UndoStep:
        """Take an action back, by the id that it gave."""
        from wellkept.api.views.bulk import undo

        self._parts.services.require_person("Undoing an action")
        return undo(self._parts, step_id)

    def undo_steps(self, *, limit: int = 20) -> list[UndoStep]:
        """Actions that can be taken back, latest first."""
        from wellkept.api.views.bulk import undo_steps

        return undo_steps(self._parts, limit=limit)

    def history(self, name: str) -> MemoryHistory:
        """How a memory came to be: what replaced what, its evidence and its use, in time."""
        from wellkept.api.views.history import history

        return history(self._parts, name)

    def review(self, *, session: str | None = None) -> ReviewGroups:
        """What a session, or the project, left to look at: applied, new, confirmed by rule."""
        from wellkept.api.views.review import review

        return review(self._parts, session=session)

    def correct(
        self,
        name: str,
        reason: str,
        *,
        content: str = "",
        original: str = "",
        if_updated_at: datetime | None = None,
    ) -> Correction:
        """Correct a memory for one of four reasons: inaccurate, outdated, too_specific, duplicate
        (of `original`)."""
        from wellkept.api.views.review import CorrectionReason, correct
        from wellkept.core.types import parse_choice

        self._parts.services.require_person("Correcting a memory")
        return correct(
            self._parts,
            name,
            parse_choice(CorrectionReason, reason.replace(" ", "_"), what="reason"),
            content=content,
            original=original,
            if_updated_at=if_updated_at,
        )

    def module_map(self) -> ModuleMap:
        """The modules on a plane, with edges, coverage and end-to-end observations."""
        from wellkept.api.views.module_map import module_map

        return module_map(self._parts)

    def file_graph(self, *, folder: str | None = None) -> FileGraph:
        """Files and their edges, of one module with its neighbours or of the whole tree."""
        from wellkept.api.views.module_map import file_graph

        return file_graph(self._parts, folder=folder)

    def storage(self) -> StorageView:
        """What fills the store, and what a prune would take."""
        from wellkept.api.views.storage import storage

        return storage(self._parts)

    def work_units(self) -> tuple[WorkUnit, ...]:
        """Units of work with memories that are not archived, latest first."""
        from wellkept.api.views.storage import work_units

        return work_units(self._parts)

    def prune_unsure(
        self, *, below: float = 0.2, unused_days: int = 30, dry_run: bool = False
    ) -> BulkResult:
        """Delete memories of little confidence that nobody used for long, with undo."""
        from wellkept.api.views.bulk import BulkAction, BulkRequest, bulk
        from wellkept.api.views.storage import prunable

        doomed = prunable(self._parts, below=below, unused_days=unused_days)
        return bulk(self._parts, BulkRequest(action=BulkAction.DELETE, dry_run=dry_run), doomed)

    def remove_stale(self, *, dry_run: bool = False) -> BulkResult:
        """Look for files that are gone, then delete the memories that name them, with undo."""
        from wellkept.api.views.bulk import BulkAction, BulkRequest, bulk, chosen
        from wellkept.core.query import Filter
        from wellkept.observe.upkeep.staleness import refresh_project

        parts = self._parts
        if not dry_run:
            refresh_project(parts.services, dry_run=False, progress=None)
        gone = chosen(parts, where=Filter(project=parts.project, include_user=False, stale=True))
        return bulk(parts, BulkRequest(action=BulkAction.DELETE, dry_run=dry_run), gone)

    def ask(self, question: str) -> ChatAnswer:
        """Answer a question from memory, word for word, with the memories it rests on."""
        from wellkept.api.views.chat import ask

        return ask(cast("Recalls", self), question)
