"""The co-access graph of sessions, and the files that a module's sessions always read.

An edge's weight is the share of sessions that used both files among those that used either. Edges
combine with git co-change as independent probabilities. Only the latest sessions of each subject
are stored, so shares are computed over the period known for every file compared; otherwise the
busiest files would look the least used.
Invariant: pure, and the order of signals does not matter. Knows no storage.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime

from wellkept.core.payloads import PrefetchPattern
from wellkept.core.query import FileLink
from wellkept.core.records import record
from wellkept.core.session.scratchpad import MAX_SESSIONS_PER_SUBJECT, SessionSignal

_ALWAYS = datetime.min.replace(tzinfo=UTC)

ALWAYS, OFTEN = 0.8, 0.5
"""Used in more than this share of a module's sessions: always read, often read."""
MIN_MODULE_SESSIONS = 3
MIN_FILES = 2
MAX_LISTED = 8
MIN_WEIGHT = 0.1
DIRECTED_SHARE = 0.8
"""An edge has a direction when one file came first in at least this share."""


@record(kw_only=True)
class CoAccessEdge:
    """Two files that sessions use together. `first` is the one usually used first."""

    file_a: str
    file_b: str
    weight: float
    sessions: int
    last_seen: datetime
    average_delta_ms: int
    first: str | None = None

    @property
    def damped_weight(self) -> float:
        """The weight, reduced when few sessions back it."""
        return self.weight * self.sessions / (self.sessions + 1)


def co_access_edges(pairs: Iterable[SessionSignal], usage: FileUsage) -> list[CoAccessEdge]:
    """The edges of pair signals, heaviest first."""
    groups = defaultdict[str, list[SessionSignal]](list)
    for signal in pairs:
        groups[signal.subject].append(signal)
    edges = [edge for group in groups.values() if (edge := _edge(group, usage))]
    return sorted(edges, key=lambda edge: (-edge.weight, edge.file_a, edge.file_b))


def _edge(group: Sequence[SessionSignal], usage: FileUsage) -> CoAccessEdge | None:
    file_a, _, file_b = group[0].subject.partition("\n")
    if not file_b:
        return None
    times = sum(signal.count for signal in group)
    a_first = sum(signal.number("a_first") for signal in group) / times
    deltas = [signal.number("time_delta_ms") for signal in group]
    first = file_a if a_first >= DIRECTED_SHARE else None
    if a_first <= 1 - DIRECTED_SHARE:
        first = file_b
    return CoAccessEdge(
        file_a=file_a,
        file_b=file_b,
        weight=round(usage.share_together(group, file_a, file_b), 4),
        sessions=len({signal.session_id for signal in group}),
        last_seen=max(signal.at for signal in group),
        average_delta_ms=sum(deltas) // len(deltas),
        first=first,
    )


def combine_links(
    changes: Mapping[tuple[str, str], FileLink], edges: Iterable[CoAccessEdge]
) -> list[FileLink]:
    """Links from git history and sessions; `changes` are by sorted (file_a, file_b)."""
    links = dict(changes)
    for edge in edges:
        pair = (edge.file_a, edge.file_b)
        known = links.get(pair, FileLink(*pair, 0.0, 0))
        weight = 1 - (1 - known.weight) * (1 - edge.damped_weight)
        links[pair] = FileLink(*pair, round(weight, 4), known.count + edge.sessions)
    heavy = [link for link in links.values() if link.weight >= MIN_WEIGHT]
    return sorted(heavy, key=lambda link: (-link.weight, link.file_a, link.file_b))


# -- Prefetch patterns ----------------------------------------------------------------------------


def prefetch_patterns(accesses: Iterable[SessionSignal]) -> list[PrefetchPattern]:
    """The files that sessions of a module nearly always read, latest module first.

    A session counts for the modules it edited; one without edits for the module it read most.
    """
    by_session = defaultdict[str, list[SessionSignal]](list)
    for signal in accesses:
        by_session[signal.session_id].append(signal)
    usage = FileUsage(signal for signals in by_session.values() for signal in signals)
    sessions = defaultdict[str, dict[str, datetime]](dict)
    files = defaultdict[str, set[str]](set)
    for name, signals in by_session.items():
        for module in _modules_of_session(signals):
            sessions[module][name] = max(signal.at for signal in signals)
            files[module] |= {signal.subject for signal in signals}
    latest = sorted(sessions, key=lambda module: (max(sessions[module].values()), module))
    patterns = (
        _pattern(module, len(sessions[module]), _shares(sessions[module], files[module], usage))
        for module in reversed(latest)
        if len(sessions[module]) >= MIN_MODULE_SESSIONS
    )
    return [pattern for pattern in patterns if pattern is not None]


def frequent_companions(path: str, accesses: Iterable[SessionSignal]) -> list[str]:
    """Files used in several of the sessions that used `path`; `accesses` are of those sessions."""
    counts = Counter(access.subject for access in accesses)
    return [name for name, n in counts.items() if n >= MIN_MODULE_SESSIONS and name != path]


def always_read_with(
    accesses: Iterable[SessionSignal], files: Iterable[str], usage: FileUsage
) -> list[str]:
    """Those of `files` used in nearly all sessions of `accesses`, highest share first."""
    shares = _shares({access.session_id: access.at for access in accesses}, files, usage)
    return [path for path, share in shares.items() if share > ALWAYS]


def _shares(
    sessions: Mapping[str, datetime], files: Iterable[str], usage: FileUsage
) -> dict[str, float]:
    """The share of sessions that used each file, highest first."""
    shares = {
        path: usage.share_among(sessions, path, at_least=MIN_MODULE_SESSIONS) for path in files
    }
    return {path: shares[path] for path in sorted(shares, key=lambda path: (-shares[path], path))}


def _modules_of_session(signals: Sequence[SessionSignal]) -> list[str]:
    edited = {s.module for s in signals if s.number("edits") > 0 and s.module}
    if edited:
        return sorted(edited)
    counts = Counter[str]()
    for signal in signals:
        counts[signal.module] += signal.count
    most = max(counts, key=lambda module: (counts[module], module), default="")
    return [most] if most else []


def _pattern(module: str, sessions: int, shares: Mapping[str, float]) -> PrefetchPattern | None:
    always = tuple(path for path, share in shares.items() if share > ALWAYS)[:MAX_LISTED]
    often = tuple(path for path, share in shares.items() if OFTEN < share <= ALWAYS)
    often = often[: MAX_LISTED - len(always)]
    if not always or len(always) + len(often) < MIN_FILES:
        return None
    return PrefetchPattern(module, always, often, sessions)


class FileUsage:
    """Sessions by file, with their time."""

    def __init__(self, accesses: Iterable[SessionSignal] = ()) -> None:
        self._sessions = defaultdict[str, dict[str, datetime]](dict)
        for access in accesses:
            self._sessions[access.subject][access.session_id] = access.at
        self._since = {path: _known_since(seen) for path, seen in self._sessions.items()}

    def share_together(self, signals: Iterable[SessionSignal], *files: str) -> float:
        """Share of sessions with these signals among all sessions that used one of the files."""
        joint = {signal.session_id: signal.at for signal in signals}
        single = [self._sessions[path] for path in files if path in self._sessions]
        since = max([_known_since(joint), *(self._since.get(path, _ALWAYS) for path in files)])
        if since == _ALWAYS:
            return len(joint) / len(joint.keys() | set[str]().union(*single)) if joint else 0.0
        either = {name for one in (joint, *single) for name, at in one.items() if at >= since}
        return sum(name in either for name in joint) / len(either) if either else 0.0

    def share_among(self, sessions: Mapping[str, datetime], path: str, *, at_least: int) -> float:
        """Share of `sessions` that used a file; 0 when fewer than `at_least` are known."""
        used = self._sessions.get(path, {})
        since = self._since.get(path, _ALWAYS)
        known = [name for name, at in sessions.items() if at >= since]
        return sum(name in used for name in known) / len(known) if len(known) >= at_least else 0.0


def _known_since(sessions: Mapping[str, datetime]) -> datetime:
    """Start of the complete history; when the limit is reached older sessions may be gone."""
    full = len(sessions) >= MAX_SESSIONS_PER_SUBJECT
    return min(sessions.values()) if full else _ALWAYS
