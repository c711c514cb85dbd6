"""Which files go together: the co-access graph of sessions, and what a module needs read first.

An edge weighs the share of sessions that used both files among those that used either; it knows
which of the two usually comes first and when it was last seen. Joined with what the history of the
repository says, two weak hints become one strong: each is taken as an independent chance.
Invariant: pure, and the order in which sightings come does not matter. Knows no storage.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from wellkept.core.codec import Json
from wellkept.core.payloads import PrefetchPattern
from wellkept.core.query import FileLink
from wellkept.core.records import record
from wellkept.core.scratchpad import SessionSignal
from wellkept.observe.learning.file_usage import FileUses

ALWAYS, OFTEN = 0.8, 0.5
"""A file that is used in more than this share of a module's sessions is always, or often, read."""
MIN_MODULE_SESSIONS = 3
MIN_FILES = 2
MOST_LISTED = 8
MIN_WEIGHT = 0.1
ONE_WAY = 0.8
"""Share of the times one file came first from which on the edge has a direction."""


@record(kw_only=True)
class CoAccessEdge:
    """Two files that sessions use together. `first` is the one that usually comes first."""

    file_a: str
    file_b: str
    weight: float
    sessions: int
    last_seen: datetime
    average_delta_ms: int
    first: str | None = None

    @property
    def sure_weight(self) -> float:
        """The weight with few sessions damped: one joint use, however exclusive, is no habit."""
        return self.weight * self.sessions / (self.sessions + 1)


def co_access_edges(pairs: Iterable[SessionSignal], uses: FileUses) -> list[CoAccessEdge]:
    """The edges that sightings of pairs amount to, heaviest first."""
    groups = defaultdict[str, list[SessionSignal]](list)
    for sighting in pairs:
        groups[sighting.subject].append(sighting)
    edges = [edge for group in groups.values() if (edge := _edge(group, uses))]
    return sorted(edges, key=lambda edge: (-edge.weight, edge.file_a, edge.file_b))


def _edge(group: Sequence[SessionSignal], uses: FileUses) -> CoAccessEdge | None:
    file_a, _, file_b = group[0].subject.partition("\n")
    if not file_b:
        return None
    times = sum(sighting.count for sighting in group)
    a_first = sum(_number(sighting, "a_first") for sighting in group) / times
    deltas = [_number(sighting, "time_delta_ms") for sighting in group]
    return CoAccessEdge(
        file_a=file_a,
        file_b=file_b,
        weight=round(uses.share_together(group, file_a, file_b), 4),
        sessions=len({sighting.session_id for sighting in group}),
        last_seen=max(sighting.at for sighting in group),
        average_delta_ms=sum(deltas) // len(deltas),
        first=file_a if a_first >= ONE_WAY else file_b if a_first <= 1 - ONE_WAY else None,
    )


def fused(
    changes: Mapping[tuple[str, str], FileLink], edges: Iterable[CoAccessEdge]
) -> list[FileLink]:
    """What history and sessions say together; `changes` are by (file_a, file_b), sorted."""
    links = dict(changes)
    for edge in edges:
        pair = (edge.file_a, edge.file_b)
        known = links.get(pair, FileLink(*pair, 0.0, 0))
        weight = 1 - (1 - known.weight) * (1 - edge.sure_weight)
        links[pair] = FileLink(*pair, round(weight, 4), known.count + edge.sessions)
    kept = [link for link in links.values() if link.weight >= MIN_WEIGHT]
    return sorted(kept, key=lambda link: (-link.weight, link.file_a, link.file_b))


# -- What a module needs read ---------------------------------------------------------------------


@record
class ModulePrefetch:
    """What the sessions of a module nearly always read, if that is a habit; which they are, the
    latest first; and how large a share of them used each file that is listed."""

    module: str
    sessions: tuple[str, ...]
    pattern: PrefetchPattern | None
    shares: Mapping[str, float]


def module_habits(accesses: Iterable[SessionSignal]) -> list[ModulePrefetch]:
    """The habit of each module that had sessions enough to have one.

    A session counts for the modules it changed something in; one that changed nothing, for the
    module it looked at most.
    """
    by_session = defaultdict[str, list[SessionSignal]](list)
    for sighting in accesses:
        by_session[sighting.session_id].append(sighting)
    uses = FileUses(sighting for seen in by_session.values() for sighting in seen)
    sessions = defaultdict[str, dict[str, datetime]](dict)
    files = defaultdict[str, set[str]](set)
    for name, seen in by_session.items():
        for module in _worked_in(seen):
            sessions[module][name] = max(sighting.at for sighting in seen)
            files[module] |= {sighting.subject for sighting in seen}
    return [
        _habit(module, told, _shares(told, files[module], uses))
        for module, told in sorted(sessions.items())
        if len(told) >= MIN_MODULE_SESSIONS
    ]


def often_beside(path: str, accesses: Iterable[SessionSignal]) -> list[str]:
    """The files that several of the sessions used which used this one; `accesses` are theirs."""
    counts = Counter(one.subject for one in accesses)
    return [name for name, n in counts.items() if n >= MIN_MODULE_SESSIONS and name != path]


def read_with(mine: Iterable[SessionSignal], files: Iterable[str], uses: FileUses) -> list[str]:
    """Those of some files that sessions nearly always use which use one, the surest first; `mine`
    are the accesses of that one."""
    shares = _shares({one.session_id: one.at for one in mine}, files, uses)
    return [path for path, share in shares.items() if share > ALWAYS]


def _shares(
    sessions: Mapping[str, datetime], files: Iterable[str], uses: FileUses
) -> dict[str, float]:
    """How large a share of some sessions used each file, the largest first."""
    shares = {
        path: uses.share_among(sessions, path, at_least=MIN_MODULE_SESSIONS) for path in files
    }
    return {path: shares[path] for path in sorted(shares, key=lambda path: (-shares[path], path))}


def _worked_in(seen: Sequence[SessionSignal]) -> list[str]:
    changed = {s.module for s in seen if _number(s, "edits") > 0 and s.module}
    if changed:
        return sorted(changed)
    looked_at = Counter[str]()
    for sighting in seen:
        looked_at[sighting.module] += sighting.count
    most = max(looked_at, key=lambda module: (looked_at[module], module), default="")
    return [most] if most else []


def _habit(
    module: str, sessions: Mapping[str, datetime], shares: Mapping[str, float]
) -> ModulePrefetch:
    latest = tuple(sorted(sessions, key=lambda name: (sessions[name], name), reverse=True))
    always = tuple(path for path, share in shares.items() if share > ALWAYS)[:MOST_LISTED]
    often = tuple(path for path, share in shares.items() if OFTEN < share <= ALWAYS)
    often = often[: MOST_LISTED - len(always)]
    if not always or len(always) + len(often) < MIN_FILES:
        return ModulePrefetch(module, latest, None, {})
    pattern = PrefetchPattern(module, always, often, len(sessions))
    return ModulePrefetch(
        module, latest, pattern, {path: shares[path] for path in (*always, *often)}
    )


def pattern_text(pattern: PrefetchPattern) -> str:
    """A pattern in words."""
    always = ", ".join(f"`{path}`" for path in pattern.always_read_files)
    told = f"Work in `{pattern.module_trigger}` nearly always needs {always}"
    if pattern.frequently_read_files:
        often = ", ".join(f"`{path}`" for path in pattern.frequently_read_files)
        told += f", and often {often}"
    return f"{told}; read them at the start."


def _number(sighting: SessionSignal, name: str) -> int:
    detail: Json = sighting.detail
    value = detail.get(name) if isinstance(detail, dict) else None
    return value if isinstance(value, int) else 0
