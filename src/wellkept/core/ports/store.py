"""The seams: what Wellkept needs from a storage engine and from models.

A store is canonical rows plus derived indexes. `apply` is all or nothing; searches return ids
with scores, already inside the filter; nothing here says how an engine does it. Every engine
passes `wellkept.testing.conformance.suite`. All of it is synchronous.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime
    from pathlib import Path

    from wellkept.core.activity import Activity, ActivityRange
    from wellkept.core.changes import Change, IndexEntry
    from wellkept.core.codec import Json
    from wellkept.core.generated_skills import GeneratedSkill, SkillEdition, SkillRun
    from wellkept.core.memory import Memory
    from wellkept.core.ports.skills import SkillUse
    from wellkept.core.query import (
        Candidate,
        FileLink,
        Filter,
        Finding,
        ModelShare,
        Page,
        RetrieverHit,
        SessionPosition,
        Stats,
    )
    from wellkept.core.sessions import ReadPosition, SessionRecord, SpoolDamage, SpoolEntry

from wellkept.core.ports.observer import ScratchpadStore
from wellkept.core.query import Order

Vector: TypeAlias = bytes
"""A unit-length embedding as packed little-endian float32."""

Progress: TypeAlias = Callable[[int, int], None]
"""Called with (done, total) during long work."""


# -- Storage ------------------------------------------------------------------------------------


class MemoryStore(Protocol):
    """The canonical rows."""

    def apply(self, changes: Sequence[Change]) -> None:
        """Make all the changes in one transaction, or none of them.

        NotFoundError for an unknown id; ConflictError for an id or an open key that is taken.
        Text that `core.text.clean` leaves as it is comes back as it was; of any other an engine
        may raise UsageError.
        """
        ...

    def get(self, ids: Sequence[str]) -> list[Memory]:
        """Memories in the order asked for; unknown ids are left out."""
        ...

    def contents(self, ids: Sequence[str]) -> dict[str, str]:
        """The contents alone, by id; unknown ids are left out."""
        ...

    def resolve(self, text: str, *, project: str | None) -> list[str]:
        """Full ids that a full id, a short id or a prefix (>= 4) of one stands for; at most 10."""
        ...

    def find_key(self, key: str, *, project: str, user_scope: bool) -> Memory | None:
        """The open memory with that key in the project (or among the `user` memories)."""
        ...

    def list(
        self,
        where: Filter,
        *,
        order: Order = Order.NEWEST,
        limit: int = 50,
        cursor: str | None = None,
    ) -> Page[Memory]:
        """One page; pages follow each other without gaps or repeats while rows are added."""
        ...

    def iterate(self, where: Filter) -> Iterator[Memory]:
        """Every memory that fits, oldest first, without holding them all in memory."""
        ...

    def stats(self, where: Filter) -> Stats:
        """Counts by type, scope and source."""
        ...

    def touch(self, ids: Sequence[str], *, at: datetime) -> None:
        """Count an access. May be buffered; never blocks a read and never fails one."""
        ...

    def flush(self) -> None:
        """Write what `touch` has buffered."""
        ...


class SearchIndex(Protocol):
    """The derived indexes. Scores: larger is better; scales differ between arms.

    A hit brings along what ranking needs to know of the memory, so that nobody reads it again.
    Whatever an engine keeps in memory, each answer is that of the rows as they stand when it is
    asked, by whichever handle or process they were written.
    """

    def search_words(
        self, terms: Sequence[str], where: Filter, *, limit: int
    ) -> list[RetrieverHit]:
        """Memories that hold any of the terms, best first (BM25-like). A term with a space is a
        phrase. Terms are data: no query syntax is honoured."""
        ...

    def search_fragments(
        self, fragments: Sequence[str], where: Filter, *, limit: int
    ) -> list[RetrieverHit]:
        """Memories whose content holds any of the fragments as a substring, ignoring case. The
        score counts the characters of those it holds; of equal ones the last written come first."""
        ...

    def search_vectors(
        self, vector: Vector, *, model_id: str, where: Filter, limit: int
    ) -> list[RetrieverHit]:
        """Nearest memories by cosine among vectors of that model only."""
        ...

    def similarities(
        self, vector: Vector, *, model_id: str, ids: Sequence[str]
    ) -> dict[str, float]:
        """Exact cosine for the given memories that have a vector of that model."""
        ...

    def search_links(
        self, *, files: Sequence[str], modules: Sequence[str], where: Filter, limit: int
    ) -> list[RetrieverHit]:
        """Memories tied to those files or modules; the score counts the ties."""
        ...

    def around(
        self, places: Sequence[SessionPosition], where: Filter, *, span: int
    ) -> list[Candidate]:
        """Memories inside the filter that stand at most `span` places before or after one of these,
        in the same session; each once."""
        ...


class VectorStore(Protocol):
    """Vectors beside the rows, each with its model id and dimension."""

    def models(self) -> list[ModelShare]:
        """Which models the stored vectors come from, most used first."""
        ...

    def missing_vectors(
        self, *, model_id: str, skip_types: Sequence[str], after: str | None, limit: int
    ) -> list[Memory]:
        """Open memories without a vector of that model, by id, after the given id."""
        ...

    def put_cards(self, cards: Sequence[tuple[str, IndexEntry]]) -> None:
        """Set extra text and vector of existing memories; ids that vanished are skipped."""
        ...

    def vectors(self, *, model_id: str, where: Filter) -> Iterator[tuple[str, Vector]]:
        """The stored vectors of one model inside the filter."""
        ...

    def drop_vectors(self, *, model_id: str) -> int:
        """Remove a model's vectors; returns how many there were."""
        ...


class ProjectStore(Protocol):
    """Projects are named by an identity string; aliases stand for a canonical one."""

    def canonical_project(self, identity: str) -> str:
        """Follow aliases; an unknown identity is its own canonical name."""
        ...

    def projects(self) -> list[tuple[str, int]]:
        """Every project that holds memories, with how many, most first."""
        ...

    def merge_projects(self, alias: str, *, into: str) -> int:
        """Make one identity an alias of another and move its memories; returns how many moved."""
        ...


class KeyValueStore(Protocol):
    """Small persistent things: project state, calibrations, file links, job records."""

    def get_value(self, space: str, key: str) -> Json:
        """The JSON value under a key of a name space, or None."""
        ...

    def put_value(self, space: str, key: str, value: Json) -> None:
        """Keep a JSON value durably; None removes it."""
        ...

    def count_up(self, space: str, key: str, by: int, *, limit: int) -> bool:
        """Add to the number under a key, unless that would take it above the limit; tells whether
        it was added. Of several who do so at once none sees another's number half-way."""
        ...

    def values(self, space: str) -> dict[str, Json]:
        """Everything in a name space."""
        ...

    def put_file_links(self, project: str, links: Sequence[FileLink]) -> None:
        """Set the weights of pairs of files that go together (unordered pairs)."""
        ...

    def linked_files(
        self, project: str, files: Sequence[str], *, min_weight: float, limit: int
    ) -> list[FileLink]:
        """Pairs with at least one of the files, heaviest first; `file_a` is the one asked for."""
        ...


class SessionStore(Protocol):
    """Sessions, which events they were made of, and how far event files were read.

    They are written through `apply` (`PutSession`, `Advance`), together with what was made of the
    events, so that each event counts exactly once.
    """

    def get_session(self, session_id: str) -> SessionRecord | None:
        """The session with that id."""
        ...

    def sessions(
        self,
        *,
        project: str | None,
        open_only: bool = False,
        needs_summary: bool = False,
        idle_since: datetime | None = None,
        limit: int = 50,
    ) -> list[SessionRecord]:
        """Sessions, the latest active first; None means every project. With `idle_since` only
        those without an event at or after that moment."""
        ...

    def resolve_session(self, text: str) -> list[str]:
        """Ids that an id or the beginning (>= 4) of one stands for; at most 10."""
        ...

    def taken_events(self, event_ids: Sequence[str]) -> set[str]:
        """Those of the events that were taken before."""
        ...

    def forget_taken(self, *, before: datetime) -> int:
        """Drop the record of events of sessions last active before a moment; returns how many."""
        ...

    def reading_mark(self, source: str) -> ReadPosition | None:
        """How far a file was read."""
        ...

    def drop_mark(self, mark: ReadPosition) -> None:
        """Forget a mark whose file is gone, unless it moved on meanwhile."""
        ...


class ActivityLog(Protocol):
    """What is new, numbered in the order of commits; `apply` writes it along with its changes."""

    def news(self, *, after: int, project: str | None, limit: int) -> list[Activity]:
        """The first news after a number, in order; with a project, only what is seen from it."""
        ...

    def news_span(self) -> ActivityRange:
        """From which number to which the news are kept: at least `KEPT_NEWS` of them."""
        ...


class SkillUseStore(Protocol):
    """How often commands were used, by project."""

    def count_skill_use(self, key: str, *, project: str, at: datetime) -> None:
        """Count one use; uses that are told late do not move the last one back."""
        ...

    def skill_uses(self, *, project: str) -> dict[str, SkillUse]:
        """Every command that was ever used in a project, by key."""
        ...


class GeneratedSkillStore(Protocol):
    """Skills made from sessions, with their earlier texts and the sessions that used them."""

    def generated_skills(self, *, project: str | None) -> list[GeneratedSkill]:
        """The skills of one project, or of all, the oldest first."""
        ...

    def put_generated(self, skill: GeneratedSkill) -> None:
        """Write a skill whose revision is still the stored one, and count it up; a former text
        becomes an edition, and a new skill is news. ConflictError when it was changed meanwhile."""
        ...

    def remove_generated(self, skill_id: str) -> bool:
        """Remove one for good with its editions and runs; tells whether it was there."""
        ...

    def skill_editions(self, skill_id: str) -> list[SkillEdition]:
        """The earlier texts of a skill, the latest first."""
        ...

    def put_skill_run(self, run: SkillRun) -> None:
        """Note that a session used a skill; told again, only the outcome is taken over.
        NotFoundError for an unknown skill."""
        ...

    def skill_runs(
        self, *, skill_ids: Sequence[str] | None = None, session_id: str | None = None
    ) -> list[SkillRun]:
        """Runs in the order of time; None means every skill and every session."""
        ...


class StoreMaintenance(Protocol):
    """Checking, mending and copying a whole store."""

    def check(self, *, deep: bool = False) -> list[Finding]:
        """What is wrong: damage, and drift between rows and indexes. Changes nothing."""
        ...

    def repair(self, *, progress: Progress | None = None) -> list[Finding]:
        """Rebuild the derived indexes from the rows; returns what was mended."""
        ...

    def backup(self, target: Path, *, progress: Progress | None = None) -> None:
        """A consistent copy while others go on working."""
        ...

    def compact_storage(self) -> None:
        """Give unused room back and refresh the engine's statistics."""
        ...

    def size_bytes(self) -> int:
        """Room taken on disk."""
        ...

    def describe(self) -> dict[str, str]:
        """Facts for people: engine, version, schema version, location."""
        ...

    def close(self) -> None:
        """Flush and let go. A closed store raises StoreError when used."""
        ...


class Store(
    MemoryStore,
    SearchIndex,
    VectorStore,
    ProjectStore,
    KeyValueStore,
    SessionStore,
    ActivityLog,
    SkillUseStore,
    ScratchpadStore,
    GeneratedSkillStore,
    StoreMaintenance,
    Protocol,
):
    """A whole storage engine."""


# -- Events on their way in -----------------------------------------------------------------------


class Spool(Protocol):
    """Files of caught events, each read from a place on and removed when it was taken in."""

    def sources(self) -> list[str]:
        """The names of the files, the longest untouched first."""
        ...

    def read(self, source: str, *, offset: int) -> Iterator[SpoolEntry | SpoolDamage]:
        """The items of a file from an offset on; nothing when the file is gone."""
        ...

    def idle_since(self, source: str) -> datetime | None:
        """When a file was last written to; None when it is gone."""
        ...

    def remove(self, source: str, *, offset: int) -> bool:
        """Remove a file that was read up to `offset`, unless more came in; tells if it is gone."""
        ...

    def set_aside(self, source: str, entry: SpoolEntry) -> None:
        """Keep a copy of an entry that cannot be taken in, for a later attempt."""
        ...


# -- Models -------------------------------------------------------------------------------------


class Embedder(Protocol):
    """Turns text into unit vectors. `model_id` changes whenever the vectors would."""

    @property
    def model_id(self) -> str: ...

    @property
    def dimension(self) -> int: ...

    def embed_documents(self, texts: Sequence[str]) -> list[Vector]: ...

    def embed_query(self, text: str) -> Vector: ...


class TextModel(Protocol):
    """Completes a prompt; used for hypothetical answers."""

    def complete(self, prompt: str, *, max_tokens: int) -> str: ...


class Reranker(Protocol):
    """Scores texts against a query; larger is better."""

    def scores(self, query: str, texts: Sequence[str]) -> list[float]: ...
