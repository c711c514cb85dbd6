"""Which sessions used which files, as far back as that is known.

Of each subject only the sightings of the latest sessions stay, so of a file that every session
opens nothing is known of long ago, while of a rare one all is. Shares are taken over the time of
which everything that is compared is known; otherwise whatever is used most would look used least.
Invariant: pure, and the order in which sightings come does not matter.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime

from wellkept.core.scratchpad import KEPT_SESSIONS, SessionSignal

_ALWAYS = datetime.min.replace(tzinfo=UTC)


class FileUses:
    """The sessions of each file, with their time."""

    def __init__(self, accesses: Iterable[SessionSignal] = ()) -> None:
        self._sessions = defaultdict[str, dict[str, datetime]](dict)
        for one in accesses:
            self._sessions[one.subject][one.session_id] = one.at
        self._since = {path: _known_since(mine) for path, mine in self._sessions.items()}

    def share_together(self, seen: Iterable[SessionSignal], *files: str) -> float:
        """The share of sessions that showed something among all that used one of the files."""
        joint = {one.session_id: one.at for one in seen}
        single = [self._sessions[path] for path in files if path in self._sessions]
        since = max([_known_since(joint), *(self._since.get(path, _ALWAYS) for path in files)])
        if since == _ALWAYS:
            return len(joint) / len(joint.keys() | set[str]().union(*single)) if joint else 0.0
        either = {name for one in (joint, *single) for name, at in one.items() if at >= since}
        return sum(name in either for name in joint) / len(either) if either else 0.0

    def share_among(self, sessions: Mapping[str, datetime], path: str, *, at_least: int) -> float:
        """The share of some sessions that used a file; 0 when too few can tell."""
        mine = self._sessions.get(path, {})
        since = self._since.get(path, _ALWAYS)
        told = [name for name, at in sessions.items() if at >= since]
        return sum(name in mine for name in told) / len(told) if len(told) >= at_least else 0.0


def _known_since(sessions: Mapping[str, datetime]) -> datetime:
    """Since when all sessions are known: of what is full, older ones may have gone."""
    return min(sessions.values()) if len(sessions) >= KEPT_SESSIONS else _ALWAYS
