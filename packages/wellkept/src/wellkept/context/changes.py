"""What `edit`, `forget` and `undo` do, and the records that say so."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, cast

from wellkept.context.bulk import BulkAction, BulkRequest, Edited, bulk, chosen, require_version
from wellkept.core.errors import UsageError
from wellkept.core.memory import Memory, Relation
from wellkept.core.payloads import RecipeStep, WorkflowRecipe
from wellkept.core.ports.store import UndoStep
from wellkept.core.records import record, replace
from wellkept.core.team.people import Role, asking
from wellkept.core.text import counted
from wellkept.core.types import RelationType, parse_choice
from wellkept.core.verbs import Table
from wellkept.memory.arguments import EditArgs, FilterArgs
from wellkept.memory.as_text import brief_line

if TYPE_CHECKING:
    from wellkept.context.workspace import TellingMemory

# What an agent may do to many memories; the rest takes a person.
_AGENTS = frozenset({BulkAction.FLAG, BulkAction.TAG, BulkAction.UNTAG, BulkAction.IMPORTANCE})


@record
class SeenVersion:
    """The version of a memory that a person saw."""

    id: str
    updated_at: datetime


# -- Edit -----------------------------------------------------------------------------------------


def change_many(
    wk: TellingMemory,
    request: BulkRequest,
    names: tuple[str, ...],
    filters: Mapping[str, Any] | None,
    seen: Mapping[str, datetime],
) -> Edited:
    """An action on the memories that are named, or on all that match."""
    if request.action not in _AGENTS:
        asking().require_person(f"To {request.action.value} memories")
        asking().require(Role.REVIEWER, what=f"To {request.action.value} memories")
    where = None if filters is None else wk.requests.filter(cast("FilterArgs", filters))
    if where is not None and request.action is BulkAction.RESTORE:
        where = replace(where, archived=True)
    return bulk(wk, request, chosen(wk, names=names, where=where), expected=seen)


def change_one(
    wk: TellingMemory,
    name: str,
    changes: EditArgs,
    *,
    if_updated_at: datetime | None,
    dry_run: bool,
) -> Edited:
    """New values of fields. New content or a new type opens a successor; a new confidence also
    changes that of related memories."""
    from wellkept.memory.agent_notes import require_agents_own
    from wellkept.memory.edit import revise
    from wellkept.memory.lifecycle.confidence import set_confidence

    if changes.keys() & {"user_verified", "needs_review"}:
        asking().require(Role.REVIEWER, what="Vouching for a memory")
    old = wk.get(name)
    patch = wk.requests.patch(changes, of=old.type)
    if asking().is_agent:
        require_agents_own(old, patch)
    require_version(old, if_updated_at)
    sure = patch.confidence
    # Checked before anything is written.
    moved = (
        ()
        if sure is None
        else set_confidence(wk.engine, id=old.id, confidence=sure, dry_run=True).items
    )
    if dry_run:
        return Edited(action="edit", count=1, memories=(old,), confidence=moved, dry_run=True)
    new = revise(wk.engine, old.id, replace(patch, confidence=None), if_updated_at=if_updated_at)
    if sure is not None:
        moved = set_confidence(wk.engine, id=new.id, confidence=sure).items
        new = wk.get(new.id)
    return Edited(action="edit", count=1, memories=(new,), confidence=moved)


def relate_one(
    wk: TellingMemory,
    name: str,
    kind: str,
    *,
    to: str | None,
    to_file: str | None,
    confidence: float,
) -> Edited:
    """A relation to another memory or to a file, once per target."""
    from wellkept.memory.edit import relate

    if (to is None) == (to_file is None):
        raise UsageError("A relation has one target.", hint="Give a memory, or a file.")
    relation = Relation(
        parse_choice(RelationType, kind, what="relation"),
        target_id=None if to is None else wk.get(to).id,
        target_file=None if to_file is None else wk.requests.files(to_file)[0],
        confidence=confidence,
    )
    memory = relate(wk.engine, wk.get(name).id, relation)
    return Edited(action="relate", count=1, memories=(memory,))


def with_steps(
    wk: TellingMemory, name: str, changes: EditArgs, steps: tuple[RecipeStep, ...]
) -> EditArgs:
    """New steps of a recipe as its text, files and payload."""
    from wellkept.memory.as_text import recipe_files, recipe_payload, recipe_text

    old = wk.get(name)
    if not isinstance(old.payload, WorkflowRecipe):
        raise UsageError(f"{old.short} is not a recipe.")
    task = changes.get("content") or old.payload.task_pattern
    return {
        **changes,
        "content": recipe_text(task, steps),
        "payload": recipe_payload(task, steps, of=old.payload),
        "files": recipe_files(steps),
    }


# -- Forget ---------------------------------------------------------------------------------------


@record(kw_only=True)
class Forgotten:
    """What was deleted, or would be. `kept`: closed only, and still in the history."""

    items: tuple[Memory, ...] = ()
    count: int = 0
    sessions: int = 0
    project_name: str
    dry_run: bool
    kept: bool = False
    notes: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[Memory]:
        return iter(self.items)

    def __len__(self) -> int:
        """How many memories are meant."""
        return self.count

    @property
    def ids(self) -> list[str]:
        """Full ids, in order."""
        return [memory.id for memory in self.items]

    @property
    def question(self) -> str:
        """What a person is asked first; empty when nothing is lost."""
        if self.kept or not (self.count or self.sessions):
            return ""
        return f"Delete {self._what} permanently?"

    @property
    def _what(self) -> str:
        memories = counted(self.count, "memory", "memories")
        if self.items:
            return memories
        return f"{memories} and {counted(self.sessions, 'session')} of {self.project_name}"

    def as_text(self) -> str:
        """What went, or would go."""
        done = "closed" if self.kept else "forgotten"
        head = f"Would be {done}: {self._what}" if self.dry_run else f"{done.title()}: {self._what}"
        return "\n".join([*map(brief_line, self.items), head])


def forget_all(wk: TellingMemory, *, name: str, dry_run: bool) -> Forgotten:
    """Delete all memories and sessions of the project; those about the person stay."""
    from wellkept.context.delete_project import clear_project

    asking().require_person("Deleting a project's memories")
    asking().require(Role.ADMIN, what="Deleting a project's memories")
    if name.strip() not in ("", wk.project_name):
        raise UsageError(
            f"{name.strip()!r} is not the name of this project.", hint=f"Type {wk.project_name!r}."
        )
    counts = clear_project(wk.engine.store, wk.project, dry_run=dry_run)
    return Forgotten(
        count=counts.memories,
        sessions=counts.sessions,
        project_name=wk.project_name,
        dry_run=dry_run,
    )


# -- Undo -----------------------------------------------------------------------------------------


@record(kw_only=True)
class Undone:
    """The action that was taken back; without an id, those that can be, latest first."""

    items: tuple[UndoStep, ...]
    undone: bool = False

    def __iter__(self) -> Iterator[UndoStep]:
        return iter(self.items)

    @property
    def ids(self) -> list[str]:
        """Ids of the actions."""
        return [one.id for one in self.items]

    def as_text(self) -> str:
        """What was taken back, or could be."""
        if self.undone:
            one = self.items[0]
            return f"Undone: {one.action} of {counted(one.count, 'memory', 'memories')}."
        lines = [
            f"{one.id} {one.at:%Y-%m-%d %H:%M} {one.action} ({one.count})" for one in self.items
        ]
        return "\n".join(lines) or "Nothing to undo."

    def as_table(self) -> Table | None:
        """The same for a terminal."""
        if self.undone:
            return None
        rows = [
            (one.id, f"{one.at:%Y-%m-%d %H:%M}", one.action, str(one.count),
             "undone" if one.undone_at else "")
            for one in self.items
        ]  # fmt: skip
        return Table(("id", "when", "action", "memories", "state"), rows, "Nothing to undo.")
