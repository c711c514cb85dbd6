"""`Wellkept` methods that show a project to people: health, facets, review, map.

The records are in `wellkept.api.views`; each is loaded on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from wellkept.api.views.chat import ChatAnswer, Recalls
    from wellkept.api.views.health import HealthView
    from wellkept.api.views.parts import ProjectParts
    from wellkept.api.views.storage import StorageView
    from wellkept.context.bulk import Edited
    from wellkept.context.moment import GivesContext
    from wellkept.context.preview import ContextPreview, JudgedSilence, Replayed
    from wellkept.context.workspace import TellingMemory


class ViewMethods:
    """Part of `Wellkept`."""

    @property
    def _parts(self) -> ProjectParts:
        return cast("ProjectParts", self)

    @property
    def _telling(self) -> TellingMemory:
        return cast("TellingMemory", self)

    def health(self, *, days: int = 30, recent: int = 8, offset_minutes: int = 0) -> HealthView:
        """The project at a glance: totals, score, tokens saved, coverage, series, machinery."""
        from wellkept.api.views.health import health

        return health(self._parts, days=days, recent=recent, offset_minutes=offset_minutes)

    def edit_page_line(
        self, name: str, text: str, *, if_updated_at: datetime | None = None
    ) -> Edited:
        """Correct the record behind a line of a page, by its id."""
        from wellkept.api.views.pages import edit_page_line

        self._parts.services.require_person("Correcting a page")
        return edit_page_line(self._parts, name, text, if_updated_at=if_updated_at)

    def preview(
        self,
        text: str = "",
        *,
        moment: str = "session",
        files: Iterable[str] = (),
        output: str = "",
        client: str = "",
        budget_tokens: int | None = None,
    ) -> ContextPreview:
        """What a hook would be given at a moment now, and what was left out. Writes nothing."""
        from wellkept.context.preview import preview
        from wellkept.core.session.hook_context import HookContextRequest

        request = HookContextRequest(
            client=client,
            session="",
            moment=moment,
            cwd=str(self._parts.services.root),
            query=text,
            output=output,
            files=tuple(files),
        )
        return preview(cast("GivesContext", self), request, budget_tokens=budget_tokens)

    def replay_prompts(self, *, limit: int = 12) -> tuple[Replayed, ...]:
        """What the latest prompts would be given now."""
        from wellkept.context.preview import replayed

        return replayed(cast("GivesContext", self), limit=limit)

    def judge_silence(
        self, prompt: str, *, should_give: str | None = None, probability: float | None = None
    ) -> JudgedSilence:
        """Keep a person's word about a prompt that was met with silence: right, or what to give."""
        from wellkept.context.preview import judge_silence

        self._parts.services.require_person("Judging silence")
        wanted = self._parts.get(should_give).id if should_give else None
        asked = cast("GivesContext", self)
        return judge_silence(asked, prompt, should_give=wanted, probability=probability)

    def mute(self, name: str, *, muted: bool = True) -> str:
        """No longer give a line unasked, or give it again; returns its id."""
        from wellkept.core.changes import PutSilence
        from wellkept.core.ports.injections import SilentLine

        parts = self._parts
        parts.services.require_person("Muting a line")
        line = name if name.startswith("line:") else parts.get(name).id
        at = parts.engine.clock()
        if not name.startswith("line:"):
            at = max(at, parts.get(line).updated_at)
        said = SilentLine(line, at, "muted by you") if muted else None
        parts.engine.store.apply([PutSilence(parts.project, line, said)])
        return line

    def storage(self) -> StorageView:
        """What fills the store, and what a prune would take."""
        from wellkept.api.views.storage import storage

        return storage(self._parts)

    def prune_unsure(
        self, *, below: float = 0.2, unused_days: int = 30, dry_run: bool = False
    ) -> Edited:
        """Delete memories of little confidence that nobody used for long, with undo."""
        from wellkept.api.views.storage import prunable
        from wellkept.context.bulk import BulkAction, BulkRequest, bulk

        doomed = prunable(self._parts, below=below, unused_days=unused_days)
        return bulk(self._telling, BulkRequest(action=BulkAction.DELETE, dry_run=dry_run), doomed)

    def remove_stale(self, *, dry_run: bool = False) -> Edited:
        """Look for files that are gone, then delete the memories that name them, with undo."""
        from wellkept.context.bulk import BulkAction, BulkRequest, bulk, chosen
        from wellkept.core.query import Filter
        from wellkept.observe.upkeep.staleness import refresh_project

        parts = self._parts
        if not dry_run:
            refresh_project(parts.services, dry_run=False, progress=None)
        gone = chosen(
            self._telling, where=Filter(project=parts.project, include_user=False, stale=True)
        )
        return bulk(self._telling, BulkRequest(action=BulkAction.DELETE, dry_run=dry_run), gone)

    def ask(self, question: str) -> ChatAnswer:
        """Answer a question from memory, word for word, with the memories it rests on."""
        from wellkept.api.views.chat import ask

        return ask(cast("Recalls", self), question)
