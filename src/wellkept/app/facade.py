"""`Wellkept`: one memory, opened, with everything that can be done with it.

Thin on purpose: it turns a caller's words into requests, hands them to `memory`, and adds what
only the wiring knows (which model answers). Synchronous; a context manager.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Unpack

from wellkept.app.areas import Areas
from wellkept.app.data_methods import Exchange
from wellkept.app.lifecycle_methods import Ageing
from wellkept.core.query import Order
from wellkept.core.records import replace
from wellkept.core.types import RelationType, parse_choice
from wellkept.memory.engine import Engine

if TYPE_CHECKING:
    from datetime import datetime

    from wellkept.app.maintenance.doctor import DoctorReport
    from wellkept.app.maintenance.reindex import ReindexReport
    from wellkept.app.projects.delete import DeletedCounts
    from wellkept.app.settings.model import Settings
    from wellkept.app.wiring.keyword_types import EditArgs, FilterArgs, MemoryArgs, Names
    from wellkept.core.memory import Memory, MemoryDraft
    from wellkept.core.ports.store import Progress
    from wellkept.core.query import Page, Stats
    from wellkept.memory.commands.execute import CommandResult
    from wellkept.memory.context.packing import ContextPack
    from wellkept.memory.recall.progressive import IndexRow, Timeline
    from wellkept.memory.recall.requests import RecallRequest, RecallResult
    from wellkept.memory.remember import RememberResult
    from wellkept.memory.state import State


class Wellkept(Ageing, Exchange, Areas):
    """A memory for one project (and, where a scope says so, about one person)."""

    def __enter__(self) -> Wellkept:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Write what is still buffered and let go of the store."""
        self.close_areas()
        self._wires.close()

    @property
    def project(self) -> str:
        """The identity under which this project's memories are kept."""
        return self._wires.project

    @property
    def project_name(self) -> str:
        """The project's name for people."""
        return self._wires.identity.name

    @property
    def root(self) -> Path:
        """The project's folder; files are named from here."""
        return self._wires.identity.root

    @property
    def path(self) -> Path:
        """The database file."""
        return self._wires.path

    @property
    def settings(self) -> Settings:
        """The settings in force."""
        return self._wires.settings

    @property
    def engine(self) -> Engine:
        """The parts underneath, for operations of `wellkept.memory` that have no method here."""
        return self._wires.engine

    # -- Keeping ----------------------------------------------------------------------------------

    def remember(
        self, content: str, *, merge_similar: bool = True, **details: Unpack[MemoryArgs]
    ) -> RememberResult:
        """Keep one statement: inserted, merged into what it repeats, or put in place of what it
        contradicts; the answer says which."""
        draft = self._wires.asker.draft(content, details)
        return self.remember_many([draft], merge_similar=merge_similar)[0]

    def remember_many(
        self,
        drafts: Sequence[MemoryDraft],
        *,
        merge_similar: bool = True,
        progress: Progress | None = None,
    ) -> list[RememberResult]:
        """Keep several statements; all are checked before the first is written."""
        from wellkept.memory.remember import remember_many

        return remember_many(
            self.engine,
            drafts,
            project=self.project,
            merge_similar=merge_similar,
            progress=progress,
        )

    def edit(
        self, name: str, *, if_updated_at: datetime | None = None, **changes: Unpack[EditArgs]
    ) -> Memory:
        """Change a memory, if asked only when nobody changed it since. New content or a new type
        closes it and opens its successor; a new confidence is felt by related memories."""
        from wellkept.memory.edit import revise

        old = self.get(name)
        patch = self._wires.asker.patch(changes, of=old.type)
        if patch.confidence is not None:
            self.set_confidence(old.id, patch.confidence, dry_run=True)  # refuses before anything
        rest = replace(patch, confidence=None)
        new = revise(self.engine, old.id, rest, if_updated_at=if_updated_at)
        if patch.confidence is None:
            return new
        self.set_confidence(new.id, patch.confidence)
        return self.get(new.id)

    def relate(
        self,
        name: str,
        type: str,
        *,
        memory: str | None = None,
        file: str | None = None,
        confidence: float = 1.0,
    ) -> Memory:
        """Say how a memory stands to another memory or to a file, once for each target."""
        from wellkept.core.memory import Relation
        from wellkept.memory.edit import relate

        relation = Relation(
            parse_choice(RelationType, type, what="relation"),
            target_id=None if memory is None else self.get(memory).id,
            target_file=None if file is None else self._wires.asker.files(file)[0],
            confidence=confidence,
        )
        return relate(self.engine, self.get(name).id, relation)

    def forget(
        self, *names: str, keep_history: bool = False, dry_run: bool = False
    ) -> list[Memory]:
        """Delete memories for good, or with `keep_history` only close them."""
        from wellkept.memory.edit import forget

        ids = [self.get(name).id for name in names]
        return forget(self.engine, ids, keep_history=keep_history, dry_run=dry_run)

    def clear_project(self, *, dry_run: bool = False) -> DeletedCounts:
        """Delete this project's memories for good, with its sessions and the skills made of them;
        returns how many there were. What is about the person stays."""
        from wellkept.app.projects.delete import clear_project

        return clear_project(self.engine.store, self.project, dry_run=dry_run)

    def apply_commands(
        self, message: str, *, author: str | None = None, session: str | None = None
    ) -> list[CommandResult]:
        """Carry out the explicit memory commands in a person's message."""
        from wellkept.memory.commands.execute import apply_commands

        return apply_commands(
            self.engine, message, project=self.project, author=author, session_id=session
        )

    # -- Finding ----------------------------------------------------------------------------------

    def recall(
        self,
        query: str,
        *,
        limit: int | None = None,
        offset: int = 0,
        mode: str | None = None,
        profile: str | None = None,
        phase: str | None = None,
        near_files: Names = (),
        read_dates: bool = True,
        recent_sessions: int | None = None,
        around: str | None = None,
        neighbours: int | None = None,
        count_access: bool = True,
        **which: Unpack[FilterArgs],
    ) -> RecallResult:
        """Find the memories that answer a question, best first."""
        from wellkept.memory.recall.requests import RecallRequest, SearchMode

        known, asker = self.settings, self._wires.asker
        request = RecallRequest(
            query=query,
            where=asker.filter(which),
            limit=known.recall_limit if limit is None else limit,
            offset=offset,
            phase=self._phase(phase),
            profile=profile or known.recall_profile,
            mode=parse_choice(SearchMode, mode or known.recall_mode, what="mode"),
            files=asker.files(near_files),
            read_dates=read_dates,
            recent_sessions=recent_sessions,
            around=self.get(around).id if around else None,
            neighbours=known.recall_neighbours if neighbours is None else neighbours,
            count_access=count_access,
        )
        return self._recalled(request)

    def _recalled(self, request: RecallRequest) -> RecallResult:
        from wellkept.memory.recall.recall import recall
        from wellkept.memory.recall.requests import SearchMode

        found = recall(self.engine, request)
        if request.where.project is not None:
            found = self._as_it_stands(found)
        note = None if request.mode is SearchMode.WORDS else self.embedding_note()
        return replace(found, notes=(*found.notes, note)) if note else found

    def _as_it_stands(self, found: RecallResult) -> RecallResult:
        """The answer with what lost its files since the last refresh marked and put back."""
        from wellkept.memory.recall.freshness import with_gone_marked

        return with_gone_marked(found, root=self.root, sure=self._wires.is_by_folder)

    @property
    def embedding_problem(self) -> str | None:
        """Why vectors could not be made, if that happened since this was opened."""
        return self._wires.embedding_problem

    def embedding_note(self) -> str | None:
        """What a person should know about the vectors, if anything."""
        from wellkept.app.maintenance.doctor import embedding_note

        return embedding_note(self._wires)

    def search(
        self, query: str, *, limit: int | None = None, offset: int = 0, **which: Unpack[FilterArgs]
    ) -> list[IndexRow]:
        """What answers a question as index rows: one line each, with what reading it costs."""
        return self.index_rows(
            self.recall(query, limit=limit, offset=offset, count_access=False, **which)
        )

    def index_rows(self, found: RecallResult) -> list[IndexRow]:
        """An answer as index rows."""
        from wellkept.memory.recall.progressive import index_row

        return [index_row(self.engine, hit.memory, score=hit.score) for hit in found]

    def timeline(
        self, anchor: str, *, before: int = 5, after: int = 5, **which: Unpack[FilterArgs]
    ) -> Timeline:
        """What stands before and after a memory in time."""
        from wellkept.memory.recall.progressive import timeline

        where = self._wires.asker.filter(which)
        return timeline(self.engine, self.get(anchor).id, where=where, before=before, after=after)

    def get(self, name: str) -> Memory:
        """The memory that a full id, a short id, a prefix of one, or a key stands for."""
        from wellkept.memory.edit import pick

        return pick(self.engine, name, project=self.project)

    def list(
        self,
        *,
        order: str = "newest",
        limit: int = 50,
        cursor: str | None = None,
        **which: Unpack[FilterArgs],
    ) -> Page[Memory]:
        """One page of the memories that fit."""
        return self.engine.store.list(
            self._wires.asker.filter(which),
            order=parse_choice(Order, order, what="order"),
            limit=limit,
            cursor=cursor,
        )

    def iterate(self, **which: Unpack[FilterArgs]) -> Iterable[Memory]:
        """Every memory that fits, oldest first."""
        return self.engine.store.iterate(self._wires.asker.filter(which))

    def context(
        self,
        query: str = "",
        *,
        moment: str | None = None,
        files: Names = (),
        phase: str | None = None,
        budget_tokens: int | None = None,
        max_chars: int | None = None,
        shown: Iterable[str] = (),
        session: str | None = None,
        skills_within_s: float | None = None,
    ) -> ContextPack:
        """What is worth saying now, inside a token budget. Without a moment it is a prompt when
        there is a query, a file when there are files, else the start of a session. Skills that fit
        are named unless the settings say no; with `skills_within_s` only if found in that time."""
        from wellkept.memory.context.build import ContextRequest, Moment, build_context
        from wellkept.memory.file_presence import exists_below
        from wellkept.memory.recall.requests import SearchMode

        usual = "prompt" if query.strip() else "file" if tuple(files) else "session"
        known = self.settings
        request = ContextRequest(
            project=self.project,
            moment=parse_choice(Moment, moment or usual, what="moment"),
            query=query,
            files=self._wires.asker.files(files),
            phase=self._phase(phase),
            budget_tokens=known.context_budget_tokens if budget_tokens is None else budget_tokens,
            max_chars=max_chars,
            shown=frozenset(shown),
            session=session,
            mode=parse_choice(SearchMode, known.recall_mode, what="mode"),
        )
        extras = self.skill_extras(request, within_s=skills_within_s)
        return build_context(self.engine, request, exists=exists_below(self.root), extras=extras)

    def stats(self, **which: Unpack[FilterArgs]) -> Stats:
        """Counts by type, scope and source."""
        return self.engine.store.stats(self._wires.asker.filter(which))

    def state(self, *, session: str | None = None) -> State:
        """Small named values with a lifetime: `temp:`, `session:` and `project:`."""
        from wellkept.memory.state import State

        return State(self.engine, project=self.project, session_id=session)

    # -- Upkeep -----------------------------------------------------------------------------------

    def reindex(self, *, force: bool = False, progress: Progress | None = None) -> ReindexReport:
        """Bring the search indexes up to the model in use; can be stopped and started again."""
        from wellkept.app.maintenance.reindex import reindex

        done = reindex(self.engine, force=force, progress=progress)
        self._wires.look_again()
        return done

    def fill_vectors(self, *, most: int = 2_000) -> int:
        """Make vectors that memories lack because no model answered when they were kept."""
        from wellkept.app.maintenance.reindex import fill_vectors

        made = fill_vectors(self.engine, most=most)
        self._wires.look_again()
        return made

    def doctor(
        self, *, deep: bool = False, repair: bool = False, progress: Progress | None = None
    ) -> DoctorReport:
        """Look the store and its surroundings over; with `repair`, mend what is derived."""
        from wellkept.app.maintenance.doctor import examine

        return examine(self._wires, deep=deep, repair=repair, progress=progress)

    def moment(self, when: str | None) -> datetime | None:
        """The moment that a date, a time or a span such as 7d means."""
        return self._wires.asker.moment(when)

    # -- Projects ---------------------------------------------------------------------------------

    def projects(self) -> list[tuple[str, int]]:
        """Every project that holds memories, with how many, most first."""
        return self.engine.store.projects()

    def merge_project(self, alias: str, *, into: str | None = None, dry_run: bool = False) -> int:
        """Make one project an alias of another (of this one) and move its memories. Both are given
        by name or by identity; returns how many memories move."""
        from wellkept.app.projects.resolver import meant_identity

        moving = meant_identity(alias)
        target = meant_identity(into) if into else self.project
        if dry_run:
            return dict(self.projects()).get(moving, 0)
        return self.engine.store.merge_projects(moving, into=target)
