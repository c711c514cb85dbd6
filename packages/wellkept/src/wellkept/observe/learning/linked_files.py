"""Maintains links between files that change together (git history) or are used together (sessions).

The links from history are also stored separately, so that adding a session needs no git. Invariant:
processing the same history and sessions again changes nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from math import sqrt
from typing import TYPE_CHECKING

from wellkept.core.codec import Json
from wellkept.core.query import FileLink
from wellkept.core.records import record
from wellkept.core.session.scratchpad import SignalKind
from wellkept.graph.history.commits import FileNumbers, PastCommit
from wellkept.memory.engine import Engine
from wellkept.observe.learning.co_access import (
    MIN_WEIGHT,
    CoAccessEdge,
    FileUsage,
    co_access_edges,
    combine_links,
)

if TYPE_CHECKING:
    from wellkept.graph.history.co_change import CoChange

MAX_LINKS = 5_000
_NAMESPACE = "co_change"
_MAX_FILES = 2_000
_PARTNERS = 10
_MAX_ROWS = 20_000
_MIN_JOINT_CHANGES = 2

Pairs = dict[tuple[str, str], FileLink]


# -- From the history -----------------------------------------------------------------------------


def history_links(
    past: Sequence[PastCommit], *, present: frozenset[str] | None = None
) -> list[FileLink]:
    """Pairs of files that change together, highest weight first.

    The weight is the geometric mean of both conditional likelihoods, so that a file which changes
    with everything is linked to nothing. A single joint change does not count.
    """
    files = _frequent_files(past, present)
    if not files:
        return []
    from wellkept.graph.history.co_change import CoChange

    model = CoChange()
    for commit in past:
        model.learn(commit, adapt=False)
    chances = {
        (path, other): (likelihood, together)
        for path in files
        for other, likelihood, together in _partners(model, path)
        if present is None or other in present
    }
    links = [
        FileLink(a, b, round(sqrt(chance * back[0]), 4), together)
        for (a, b), (chance, together) in chances.items()
        if a < b and (back := chances.get((b, a)))
    ]
    links = [link for link in links if link.weight >= MIN_WEIGHT]
    return sorted(links, key=lambda link: (-link.weight, link.file_a, link.file_b))[:MAX_LINKS]


def _frequent_files(past: Iterable[PastCommit], present: frozenset[str] | None) -> list[str]:
    """Files that changed with others more than once, by current name, most changes first."""
    times, files = Counter[int](), FileNumbers()
    for commit in past:
        numbers = files.follow(commit)
        if len(numbers) > 1:
            times.update(numbers)
    busy = [
        n for n, count in times.most_common() if count >= _MIN_JOINT_CHANGES and files.is_present(n)
    ]
    names = (files.name(number) for number in busy)
    return [name for name in names if present is None or name in present][:_MAX_FILES]


def _partners(model: CoChange, path: str) -> Iterable[tuple[str, float, int]]:
    for partner in model.partners(path, limit=_PARTNERS, min_together=_MIN_JOINT_CHANGES):
        yield partner.path, partner.likelihood, partner.together


def link_history(engine: Engine, project: str, links: Sequence[FileLink]) -> int:
    """Replace the links from history. Returns the number of links."""
    before = _links_from_history(engine, project)
    value: dict[str, Json] = {f"{x.file_a}\n{x.file_b}": [x.weight, x.count] for x in links}
    engine.store.put_value(_NAMESPACE, project, value or None)
    return _write(engine, project, gone=before)


def move_history(engine: Engine, project: str, moves: Mapping[str, str]) -> None:
    """Apply renames to the links from history, and update the combined links."""
    value: dict[str, Json] = {}
    for (file_a, file_b), link in _links_from_history(engine, project).items():
        low, high = sorted((moves.get(file_a, file_a), moves.get(file_b, file_b)))
        if low != high:
            value[f"{low}\n{high}"] = [link.weight, link.count]
    engine.store.put_value(_NAMESPACE, project, value or None)
    _write(engine, project)


def forget_links(engine: Engine, project: str, files: Iterable[str]) -> None:
    """Set the weight of all links of these files to 0."""
    for name in files:
        links = engine.store.linked_files(project, [name], min_weight=0.0, limit=_MAX_ROWS)
        gone = [
            FileLink(min(x.file_a, x.file_b), max(x.file_a, x.file_b), 0.0, 0)
            for x in links
            if x.weight
        ]
        if gone:
            engine.store.put_file_links(project, gone)


# -- From sessions --------------------------------------------------------------------------------


def link_sessions(engine: Engine, project: str) -> int:
    """Update the links with session data. Returns the number of links."""
    return _write(engine, project)


def co_access(engine: Engine, project: str) -> list[CoAccessEdge]:
    """Files that sessions used together, highest weight first."""
    seen = engine.store.signals(
        project=project,
        kinds=(SignalKind.CO_ACCESS, SignalKind.FILE_ACCESS),
        limit=_MAX_ROWS,
    )
    pairs = [one for one in seen if one.kind is SignalKind.CO_ACCESS]
    usage = FileUsage(one for one in seen if one.kind is SignalKind.FILE_ACCESS)
    return co_access_edges(pairs, usage)


@record(kw_only=True)
class LinkedFile:
    """A file linked to another: weight, number of commits and sessions, which one sessions usually
    open first, and when that was last seen."""

    path: str
    weight: float
    commits: int = 0
    sessions: int = 0
    opened_first: str | None = None
    last_seen: datetime | None = None


def linked_files(engine: Engine, project: str, path: str, *, limit: int = 20) -> list[LinkedFile]:
    """Files linked to one, highest weight first."""
    links = engine.store.linked_files(project, [path], min_weight=0.0, limit=limit)
    edges = {
        edge.file_b if edge.file_a == path else edge.file_a: edge
        for edge in co_access(engine, project)
        if path in (edge.file_a, edge.file_b)
    }
    history = _links_from_history(engine, project)
    return [
        _linked_file(link, edges.get(link.file_b), history) for link in links if link.weight > 0
    ]


def _linked_file(link: FileLink, edge: CoAccessEdge | None, history: Pairs) -> LinkedFile:
    low, high = sorted((link.file_a, link.file_b))
    changed = history.get((low, high))
    return LinkedFile(
        path=link.file_b,
        weight=link.weight,
        commits=changed.count if changed else 0,
        sessions=edge.sessions if edge else 0,
        opened_first=edge.first if edge else None,
        last_seen=edge.last_seen if edge else None,
    )


def _write(engine: Engine, project: str, *, gone: Iterable[tuple[str, str]] = ()) -> int:
    """Write the links of history and sessions combined; `gone` pairs get the weight 0."""
    links = combine_links(_links_from_history(engine, project), co_access(engine, project))[
        :MAX_LINKS
    ]
    known = {(link.file_a, link.file_b) for link in links}
    dropped = [FileLink(a, b, 0.0, 0) for a, b in gone if (a, b) not in known]
    if links or dropped:
        engine.store.put_file_links(project, [*links, *dropped])
    return len(links)


def _links_from_history(engine: Engine, project: str) -> Pairs:
    value = engine.store.get_value(_NAMESPACE, project)
    found: Pairs = {}
    for pair, weighed in value.items() if isinstance(value, dict) else ():
        file_a, _, file_b = pair.partition("\n")
        match weighed:
            case [int() | float() as weight, int(count)] if file_b:
                found[file_a, file_b] = FileLink(file_a, file_b, float(weight), count)
            case _:
                continue
    return found
