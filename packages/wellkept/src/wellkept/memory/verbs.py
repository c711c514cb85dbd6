"""The verbs of memory: recall and list. `core.verbs` says what a declaration is."""

from __future__ import annotations

from typing import Annotated, Literal, Unpack

from wellkept.core.errors import UsageError
from wellkept.core.query import RAW_TYPES
from wellkept.core.types import parse_choice
from wellkept.core.verbs import Alias, Arg, verb
from wellkept.memory.arguments import READABLE, FilterArgs, Names, with_order, with_types
from wellkept.memory.listing import Listed
from wellkept.memory.recall.requests import RecallResult
from wellkept.memory.workspace import OpenMemory


def _search_arguments(given: dict[str, object]) -> dict[str, object]:
    """Dates, kinds and orders of the documents as ours; a cursor is an offset."""
    named = with_order(with_types(given))
    if cursor := named.pop("cursor", None):
        number = str(cursor).removeprefix("o")
        if not (number.isascii() and number.isdigit() and len(number) < 8):
            raise UsageError(
                f"The cursor {cursor!r} does not belong to this search.",
                hint="Pass offset=next_offset of the page before, or none to start over.",
            )
        named.setdefault("offset", number)
    return named


@verb(
    toolset="default",
    preset={"types": READABLE, "chars": 600},
    aliases=(
        *("recall", "recall_memory"),
        *(
            Alias(name, {"brief": True, "count_access": False})
            for name in (
                *("search", "memory_search", "search_memory", "search_memories"),
                *("search_observations", "find_memories"),
            )
        ),
    ),
    tell="What earlier sessions learned about this project: decisions and reasons, fixes, traps, "
    "conventions, what was done when. Use when a task starts, an error looks familiar, or the "
    "person refers to earlier work. brief gives one line each; memory_show reads one whole.",
    finds=True,
    reads=_search_arguments,
    examples=({"query": "how are migrations run", "limit": 3, "count_access": False},),
)
def recall(
    wk: OpenMemory,
    query: Annotated[
        str,
        Arg("Words or a question. Filters alone: the newest.", words=True, aka=("question", "q")),
    ] = "",
    *,
    limit: Annotated[int | None, Arg("How many.", 1, 1000, "-n")] = None,
    offset: Annotated[int, Arg("How many to skip.", 0, 10_000, hidden=True)] = 0,
    mode: Annotated[
        Literal["hybrid", "words", "vectors"] | None, Arg("Which indexes to search.", hidden=True)
    ] = None,
    profile: Annotated[str | None, Arg("Ranking: default, balanced or phase.", hidden=True)] = None,
    phase: Annotated[
        str | None, Arg("Phase of work; changes the weight of types.", hidden=True, names="phase")
    ] = None,
    near_files: Annotated[
        Names, Arg("Files at hand; their memories are candidates.", flag="--near", hidden=True)
    ] = (),
    read_dates: Annotated[
        bool, Arg("Read dates in the question.", flag="--dates/--no-dates", hidden=True)
    ] = True,
    recent_sessions: Annotated[int | None, Arg("Only the last sessions.", 1, hidden=True)] = None,
    around: Annotated[
        str | None, Arg("Only around the time of this memory.", hidden=True, names="memory")
    ] = None,
    neighbours: Annotated[
        int | None, Arg("Memories to show before and after each, of its session.", 0, hidden=True)
    ] = None,
    count_access: Annotated[bool, Arg("Count it as use.", hidden=True)] = True,
    min_score: Annotated[
        float | None, Arg("Least probability of an answer; 0 lists all.", 0, 1, hidden=True)
    ] = None,
    order: Annotated[
        Literal["relevance", "date_desc", "date_asc"],
        Arg("Best first, or by date.", hidden=True, aka=("order_by", "sort")),
    ] = "relevance",
    concepts: Annotated[Names, Arg("About one of these concepts.", hidden=True)] = (),
    **filters: Unpack[FilterArgs],
) -> RecallResult:
    """Find the memories that answer a question, best first.

    A score is the probability of an answer; what scores less than --min-score is left out. Exits
    with 1 when nothing is known, like grep.
    """
    from wellkept.memory.recall.asked import answer
    from wellkept.memory.recall.requests import DEFAULT_PROFILE, RecallRequest, SearchMode

    settings, requests = wk.settings, wk.requests
    where = requests.filter(filters)
    narrowed = near_files or recent_sessions or around or concepts or where != requests.filter({})
    if not (query.strip() or narrowed):
        raise UsageError(
            "recall cannot take this: query is empty.",
            hint="Say what to look for, or narrow by type, tag, file or time.",
        )
    profile = profile or settings.recall_profile
    if min_score is None:
        min_score = settings.recall_min_score if profile == DEFAULT_PROFILE else 0.0
    request = RecallRequest(
        query=query,
        where=where,
        limit=settings.recall_limit if limit is None else limit,
        offset=offset,
        phase=wk.phase(phase),
        profile=profile,
        mode=parse_choice(SearchMode, mode or "hybrid", what="mode"),
        files=requests.files(near_files),
        read_dates=read_dates,
        recent_sessions=recent_sessions,
        around=wk.get(around).id if around else None,
        neighbours=neighbours or 0,
        count_access=count_access,
        min_score=min_score,
    )
    return answer(wk, request, order=order, concepts=concepts)


def _list_arguments(given: dict[str, object]) -> dict[str, object]:
    """Arguments of `timeline` and `changes_for_file` in the documents."""
    named = with_types(given)
    query = named.pop("query", None)
    return named if query is None else {"around": f"?{query}", **named}


@verb(
    toolset="default",
    aliases=(
        Alias("timeline", {"types": (*READABLE, "prompt")}),
        Alias("memory_timeline", {"types": (*READABLE, "prompt")}),
        Alias("decisions", {"types": ("decision",), "order": "event-latest"}),
        Alias("changes_for_file", {"order": "event-latest"}),
        Alias("memory_facets", {"count": True}),
    ),
    tell="Memories by date and filter, newest first, one line each; around: what came before and "
    "after one memory, what led to it and what followed.",
    reads=_list_arguments,
    examples=({"limit": 3}, {"count": True, "limit": 1}),
)
def list_(
    wk: OpenMemory,
    *,
    order: Annotated[
        Literal["newest", "oldest", "updated", "importance", "accessed", "event", "event-latest"],
        Arg("Sort order.", hidden=True),
    ] = "newest",
    limit: Annotated[int, Arg("How many.", 1, 1000, "-n")] = 20,
    cursor: Annotated[str | None, Arg("Go on after a page: its next_cursor.", hidden=True)] = None,
    around: Annotated[
        str | None,
        Arg(
            "The memories before and after this one.",
            aka=("anchor", "anchor_id", "id"),
            names="memory",
            metavar="ID",
        ),
    ] = None,
    before: Annotated[
        int, Arg("How many before it.", 0, 100, hidden=True, aka=("depth_before",))
    ] = 5,
    after: Annotated[int, Arg("How many after it.", 0, 100, hidden=True, aka=("depth_after",))] = 5,
    count: Annotated[
        bool, Arg("Count by type, source, tag, file and so on instead.", hidden=True)
    ] = False,
    labels: Annotated[
        int, Arg("How many tags, files, modules to count.", 0, 500, hidden=True)
    ] = 50,
    **filters: Unpack[FilterArgs],
) -> Listed:
    """List memories, newest first.

    With --around, those before and after one memory in time; with --count, how many each further
    filter would leave.
    """
    from wellkept.core.query import Order
    from wellkept.memory.listing import facets

    where = wk.requests.filter(filters)
    if around is not None:
        return _around(wk, around, before, after, filters)
    if count:
        found = facets(wk.engine.store, where, labels=labels)
        return Listed(items=(), total=found.total, counts=found)
    page = wk.engine.store.list(
        where, order=parse_choice(Order, order, what="order"), limit=limit, cursor=cursor
    )
    return Listed(items=page.items, total=page.total, next_cursor=page.next_cursor)


def _around(wk: OpenMemory, around: str, before: int, after: int, filters: FilterArgs) -> Listed:
    from wellkept.memory.recall.asked import timeline

    if around.startswith("?"):
        kinds: list[FilterArgs] = [filters]
        if not filters.get("types"):  # what happened is as good an anchor as what is known
            kinds.append({**filters, "types": tuple(kind.value for kind in RAW_TYPES)})
        found = [
            recall(wk, around[1:], limit=1, count_access=False, min_score=0.0, **each)
            for each in kinds
        ]
        if not (hits := [hit for result in found for hit in result]):
            from wellkept.core.errors import NotFoundError

            raise NotFoundError(f"Nothing matches {around[1:]!r}.", hint="Give an id instead.")
        anchor = max(hits, key=lambda hit: hit.score).memory
    else:
        anchor = wk.get(around.strip("[] ").removeprefix("m:"))
    where = wk.requests.filter(filters)
    items = timeline(wk.engine, anchor, where=where, before=before, after=after)
    return Listed(items=items, total=len(items), anchor=anchor.id)
