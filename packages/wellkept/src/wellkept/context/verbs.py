"""The verbs that tell of use, change and delete. `core.verbs` says what a declaration is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any, Literal, Unpack

from wellkept.context.bulk import BulkAction, Edited
from wellkept.context.changes import Forgotten, SeenVersion, Undone
from wellkept.context.review import CorrectionReason, ReviewGroups
from wellkept.context.told import MemoryStats, Shown, ShownMemory, Why
from wellkept.context.workspace import TellingMemory
from wellkept.core.errors import ConflictError, NotFoundError, UsageError
from wellkept.core.memory import Memory
from wellkept.core.payloads import RecipeStep
from wellkept.core.team.people import Role, asking
from wellkept.core.types import RelationType
from wellkept.core.verbs import Alias, Arg, Effect, verb
from wellkept.memory.arguments import (
    EditArgs,
    FilterArgs,
    Names,
    When,
    with_key_to_forget,
    with_order,
    with_types,
)

if TYPE_CHECKING:
    from wellkept.context.injected_line import LineReason

MOST_RECORDS = 50


def plain_id(name: str) -> str:
    """An id without the marks that citations put around it: `[m:1a2b]`, `m:1a2b`."""
    return name.strip().removeprefix("[").removesuffix("]").removeprefix("m:") or name


@verb(
    toolset="default",
    aliases=(
        *("get_observations", "get_observation", "memory_get", "memory_read"),
        *("get_memory", "get_memories", Alias("memory_history", {"history": True})),
    ),
    tell="Full text of the few memories that matter, by the ids that memory_recall shows or texts "
    "cite as [m:id], with where each comes from and whether it was of use.",
    reads=with_order,
    examples=({"ids": ["{id}"]},),
)
def show(
    wk: TellingMemory,
    ids: Annotated[
        Names,
        Arg(
            "Ids or keys.",
            1,
            MOST_RECORDS,
            aka=("id", "key", "keys", "memory_id", "memory_ids", "name"),
            names="memory",
        ),
    ],
    *,
    history: Annotated[bool, Arg("How each came to be instead.", hidden=True)] = False,
    limit: Annotated[int, Arg("At most so many.", 1, MOST_RECORDS, hidden=True)] = MOST_RECORDS,
    order: Annotated[
        Literal["given", "date_desc", "date_asc"],
        Arg("As given, or by date.", hidden=True, aka=("order_by",)),
    ] = "given",
) -> Shown:
    """Show memories in full.

    ID is a full id, a short id or its beginning, or a key.
    """
    from wellkept.memory.history import history as history_of

    found: dict[str, Memory] = {}
    missing: list[str] = []
    names = (ids,) if isinstance(ids, str) else tuple(ids)
    for name in names:
        try:
            memory = wk.get(plain_id(name))
        except NotFoundError:
            if len(names) == 1:
                raise
            missing.append(name)
        else:
            found[memory.id] = memory
    if not found:
        raise NotFoundError(
            f"No memory has one of these ids or keys: {', '.join(missing)}.",
            hint="`wellkept list` shows what there is.",
        )
    memories = list(found.values())
    if order != "given":
        memories.sort(key=lambda m: (m.valid_from, m.id), reverse=order == "date_desc")
    return Shown(
        items=tuple(
            ShownMemory(
                memory=memory,
                use=wk.injected.use_of(memory),
                history=history_of(wk, memory) if history else None,
            )
            for memory in memories[:limit]
        ),
        missing=tuple(missing),
    )


# -- Why ------------------------------------------------------------------------------------------


@verb(
    toolset="records",
    aliases=("explain_memory", "why", "lines_given"),
    tell="Why a memory or a line that you were given is there and whether it was ever of use: the "
    "sessions and signals it rests on, when agents were given it, used, ignored or harmed by it. "
    "Without one: what agents were told lately.",
    examples=({"text": "{id}"}, {"limit": 2}),
)
def why(
    wk: TellingMemory,
    text: Annotated[
        str,
        Arg(
            "An id, or a line or part of one that an agent was given. Empty: the log.",
            words=True,
            aka=("id", "memory_id", "name", "line"),
            names="memory",
            metavar="ID|TEXT",
        ),
    ] = "",
    *,
    session: Annotated[
        str | None, Arg("Only this session: id or its beginning.", hidden=True, names="session")
    ] = None,
    moment: Annotated[
        Literal["session", "prompt", "file", "command", "failure", "plan"] | None,
        Arg("Only at such moments.", hidden=True),
    ] = None,
    memory: Annotated[
        str | None,
        Arg("Only this memory, or the id of a line.", hidden=True, names="memory", metavar="ID"),
    ] = None,
    outcome: Annotated[
        Literal["open", "used", "ignored", "unclear", "harm"] | None,
        Arg("Only lines that ended so.", hidden=True),
    ] = None,
    silent: Annotated[bool, Arg("The lines that are no longer injected.")] = False,
    limit: Annotated[int, Arg("How many moments.", 1, 1000, "-n")] = 20,
    cursor: Annotated[str | None, Arg("Go on after a page: its next_cursor.", hidden=True)] = None,
) -> Why:
    """Show what agents were told lately, or where one memory or line comes from.

    Without ID or TEXT: what agents were told, newest first, why, and what came of each line. With
    one: sessions, signals, rule and score; when and where agents were given it, how often it was
    used or ignored or did harm, and the tokens it saved. The log ends with how much is stored and
    was never told, by type. Give an id (a full or short one, its
    beginning, a key, the id of a line), or paste the line or a part of it.
    """
    if text.strip():
        return _explained(wk, text)
    if silent:
        gone = tuple(wk.injected.silent())
        return Why(silent=gone, total=len(gone), notes=() if gone else ("No line is silent.",))
    page = wk.injected.list(
        session=session, moment=moment, memory=memory, outcome=outcome, limit=limit, cursor=cursor
    )
    is_whole = not (session or moment or memory or outcome or cursor)
    nothing = "Nothing was injected yet. `wellkept install` adds the hooks to a client."
    return Why(
        items=page.items,
        total=page.total,
        next_cursor=page.next_cursor,
        never_told=wk.injected.never_told() if is_whole else (),
        notes=() if page.items else (nothing,),
    )


def _explained(wk: TellingMemory, text: str) -> Why:
    from wellkept.context.injected_line import cited_memory, find_line

    line: LineReason | None = None
    memory: Memory | None = None
    try:
        memory = wk.get(cited_memory(text) or text)
    except (NotFoundError, UsageError):
        line = find_line(wk.engine.store, wk.project, text)
    except ConflictError:
        if " " not in text.strip():
            raise
        line = find_line(wk.engine.store, wk.project, text)
    if memory is None and line is not None and line.line.memory_id is not None:
        try:
            memory = wk.get(line.line.memory_id)
        except NotFoundError:
            memory = None
    if memory is None:
        note = "This line was put together from sessions, code or skills; no memory holds it."
        return Why(line=line, total=1, notes=(note,))
    return Why(
        memory=memory,
        explanation=wk.observer.why(memory).explanation,
        use=wk.injected.use_of(memory),
        line=line,
        total=1,
    )


# -- Change and delete ----------------------------------------------------------------------------

_IDS = ("id", "keys", "memory_id", "memory_ids", "name")


def _listed(names: Names) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)


@verb(
    effect=Effect.ADDS,
    toolset="records",
    aliases=tuple(
        Alias(name, {"action": "flag"}) for name in ("memory_flag", "flag_memory", "flag")
    ),
    tell="Change a note of yours; or action=flag with a reason: a memory you were given is wrong "
    "or did harm. It is no longer given unasked and waits for a person's review.",
    repeatable=False,
    examples=({"ids": ["{id}"], "importance": 0.7},),
)
def edit(
    wk: TellingMemory,
    ids: Annotated[Names, Arg("Ids or keys.", aka=_IDS, names="memory")] = (),
    *,
    where: Annotated[
        dict[str, Any] | None,
        Arg("With an action: all that match these filters.", hidden=True, metavar="JSON"),
    ] = None,
    action: Annotated[BulkAction | str | None, Arg("Do this to them, with undo.")] = None,
    because: Annotated[
        CorrectionReason | str | None, Arg("A person corrects it: what is wrong.")
    ] = None,
    original: Annotated[
        str, Arg("What a duplicate repeats.", hidden=True, names="memory", metavar="ID")
    ] = "",
    reason: Annotated[str, Arg("Why, for reject and flag.", 0, 2_000)] = "",
    session: Annotated[
        str | None, Arg("For flag: the session it did harm in.", hidden=True, names="session")
    ] = None,
    relate: Annotated[RelationType | str | None, Arg("Relate it so to another one.")] = None,
    to: Annotated[
        str | None, Arg("The memory it is related to.", names="memory", metavar="ID")
    ] = None,
    to_file: Annotated[str | None, Arg("The file it is related to.", hidden=True)] = None,
    steps: Annotated[tuple[RecipeStep, ...], Arg("New steps of a recipe.", hidden=True)] = (),
    if_updated_at: Annotated[When, Arg("Refuse when it was changed since.", hidden=True)] = None,
    seen: Annotated[
        tuple[SeenVersion, ...], Arg("Refuse when one was changed since.", hidden=True)
    ] = (),
    dry_run: Annotated[bool, Arg("Only say what would change.")] = False,
    **changes: Unpack[EditArgs],
) -> Edited:
    """Change a memory, or many.

    New content or a new type closes the memory and creates a successor; other fields change in
    place. Without options, the content opens in $EDITOR. With --because a person corrects it, with
    --action many are confirmed, archived and so on; both can be taken back.
    """
    from wellkept.context import changes as work
    from wellkept.context.bulk import BulkRequest
    from wellkept.context.review import correct
    from wellkept.core.types import parse_choice

    names = tuple(map(plain_id, _listed(ids)))
    moment = wk.requests.moment(if_updated_at)
    if action is not None:
        if bool(names) == (where is not None):
            raise UsageError("Name memories by ids, or give a filter in where.", hint="Not both.")
        request = BulkRequest(
            action=parse_choice(BulkAction, action, what="action"),
            reason=reason,
            session=session,
            importance=changes.get("importance"),
            tags=_listed(changes.get("tags", ())),
            dry_run=dry_run,
        )
        versions = {wk.get(one.id).id: one.updated_at for one in seen}
        return work.change_many(wk, request, names, where, versions)
    if len(names) != 1:
        raise UsageError("Name one memory.", hint="With an action, name many.")
    if dry_run and (because or relate):
        return Edited(
            action=because or "relate", count=1, memories=(wk.get(names[0]),), dry_run=True
        )
    if because is not None:
        asking().require_person("Correcting a memory")
        asking().require(Role.REVIEWER, what="Correcting a memory")
        why_so = parse_choice(CorrectionReason, because.replace(" ", "_"), what="reason")
        text = changes.get("content", "")
        return correct(wk, names[0], why_so, content=text, original=original, if_updated_at=moment)
    if relate is not None:
        sure = changes.get("confidence", 1.0)
        return work.relate_one(wk, names[0], relate, to=to, to_file=to_file, confidence=sure)
    if steps:
        changes = work.with_steps(wk, names[0], changes, steps)
    if not changes:
        raise UsageError("No fields to update.", hint="Pass at least one.")
    return work.change_one(wk, names[0], changes, if_updated_at=moment, dry_run=dry_run)


@verb(
    effect=Effect.REMOVES,
    role=Role.WRITER,
    toolset="default",
    aliases=("memory_delete", "delete_memory", "forget"),
    tell="Delete memories. Without confirm it only shows what would go: ask the person first.",
    reads=with_key_to_forget,
    repeatable=False,
    examples=({"ids": ["{id}"], "dry_run": True},),
)
def forget(
    wk: TellingMemory,
    ids: Annotated[Names, Arg("Ids or keys.", aka=_IDS, names="memory")] = (),
    *,
    keep_history: Annotated[bool, Arg("Only close them: no longer believed.", hidden=True)] = False,
    everything: Annotated[
        bool, Arg("All memories and sessions of this project.", flag="--all", hidden=True)
    ] = False,
    project_name: Annotated[
        str, Arg("With --all: the project's name, typed, or nothing goes.", hidden=True)
    ] = "",
    dry_run: Annotated[bool, Arg("Only say what would go.")] = False,
) -> Forgotten:
    """Delete memories permanently.

    ID is a full id, a short id or its beginning, or a key.
    """
    from wellkept.context.changes import forget_all
    from wellkept.memory.agent_notes import is_persons
    from wellkept.memory.edit import forget as forget_memories

    names = tuple(map(plain_id, _listed(ids)))
    if everything == bool(names) or (everything and keep_history):
        raise UsageError("Pass memory ids, or --all for the whole project.", hint="Not both.")
    if everything:
        return forget_all(wk, name=project_name, dry_run=dry_run)
    found = [wk.get(name) for name in names]
    if any(map(is_persons, found)):
        asking().require_person("Deleting what a person said")
    ids = [one.id for one in found]
    gone = forget_memories(wk.engine, ids, keep_history=keep_history, dry_run=dry_run)
    return Forgotten(
        items=tuple(gone),
        count=len(gone),
        project_name=wk.project_name,
        dry_run=dry_run,
        kept=keep_history,
        notes=tuple(_next_step(dry_run=dry_run, keep_history=keep_history)),
    )


def _next_step(*, dry_run: bool, keep_history: bool) -> Iterator[str]:
    if dry_run and asking().is_agent:
        yield "If the person wants that, call again with confirm=true."
    elif keep_history and not dry_run:
        yield "Still in the history."


@verb(
    effect=Effect.ADDS,
    role=Role.READER,
    aliases=("undo_action", "undo_steps"),
    repeatable=False,
    examples=({},),
)
def undo(
    wk: TellingMemory,
    id: Annotated[str, Arg("The undo_id that an action gave. Empty: list them.")] = "",
    *,
    limit: Annotated[int, Arg("How many to list.", 1, 100, "-n")] = 20,
) -> Undone:
    """Take an action back by its id, or list what can be taken back."""
    from wellkept.context import bulk

    if not id.strip():
        return Undone(items=tuple(bulk.undo_steps(wk, limit=limit)))
    asking().require_person("Undoing an action")
    asking().require(Role.REVIEWER, what="Undoing an action")
    return Undone(items=(bulk.undo(wk, id),), undone=True)


@verb(
    toolset="page",
    aliases=("review_groups",),
    tell="What a session, or the project, left to look at: applied, new, confirmed by rule.",
    examples=({},),
)
def review(
    wk: TellingMemory,
    session: Annotated[
        str, Arg("Its id or beginning. Empty: all that waits.", names="session")
    ] = "",
) -> ReviewGroups:
    """Show what a session, or the project, left to look at, in three groups."""
    from wellkept.context.review import review as review_of

    return review_of(wk, session=session or None)


@verb(
    tool="stats",
    toolset="records",
    aliases=("memory_stats",),
    reads=with_types,
    tell="Counts of what is known about this project, by type and source.",
    examples=({"types": ["fact"]},),
)
def stats(wk: TellingMemory, **filters: Unpack[FilterArgs]) -> MemoryStats:
    """Count memories by type, scope and source, and what agents were given."""
    from wellkept.core.query import Validity
    from wellkept.core.records import fields, replace

    where = wk.requests.filter(filters)
    found = wk.engine.store.stats(where)
    if where.validity is Validity.OPEN and where.as_of is None:
        closed = wk.engine.store.stats(replace(where, validity=Validity.CLOSED))
        found = replace(found, closed=closed.total)
    own = {one.name: getattr(found, one.name) for one in fields(type(found))}
    return MemoryStats(**own, project=wk.project_name, injected=wk.injected.totals())
