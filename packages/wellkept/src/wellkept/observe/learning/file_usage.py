"""Counts which sessions used which files.

Only the latest sessions of each subject are stored, so the history of a busy file is shorter than
that of a rare one. Shares are computed over the period known for every file compared; otherwise the
busiest files would look the least used.
Invariant: pure, and the order of signals does not matter.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime

from wellkept.core.session.scratchpad import MAX_SESSIONS_PER_SUBJECT, SessionSignal

_ALWAYS = datetime.min.replace(tzinfo=UTC)


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
