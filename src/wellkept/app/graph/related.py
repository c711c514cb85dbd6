"""`wk.graph.related`: files that belong with a file, by history, structure and use.

Learning a long history takes seconds, so what it says of a file is kept beside the memories, with
the commit it was learned at, and holds until history has gone on for a while. The files that were
changed lately are looked at along with the one that was asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from wellkept.app.projects.commits import read_past
from wellkept.app.projects.git import ask_git
from wellkept.codegraph.index.source_files import look
from wellkept.codegraph.query.related import (
    HISTORY,
    SESSIONS,
    STRUCTURE,
    FileRanking,
    NamedFile,
    RelatedFile,
    fused,
)
from wellkept.core.codec import Json
from wellkept.core.errors import NotFoundError, UsageError
from wellkept.core.records import record

if TYPE_CHECKING:
    from wellkept.app.wiring.services import Services
    from wellkept.codegraph.history.co_change import CoChange
    from wellkept.core.ports.store import Progress

MAX_COMMITS: Final = 5_000
MAX_BEHIND: Final = 20
"""So many new commits change little of what a long history says."""
LOOKED_AT_ALONG: Final = 400
MAX_KEPT: Final = 1_000
_SHELF: Final = "co_change"
_PARTNERS: Final = 20
_MIN_WEIGHT: Final = 0.1
_MOST_EXPECTED: Final = 3
_SURE: Final = 8
"""A file that is not there is told of only when it is among the first so many."""


@record(kw_only=True)
class Related:
    """The files that belong with one, and whether history and the graph had a say.

    `expected` are not there yet: files that others of like names have, such as a test.
    """

    file: str
    files: tuple[RelatedFile, ...]
    expected: tuple[str, ...] = ()
    has_history: bool
    has_graph: bool


class RelatedFiles:
    """Finds what belongs together in one project folder."""

    def __init__(
        self,
        services: Services,
        root: Path,
        *,
        tree: str,
        graph_neighbours: Callable[[str], tuple[Sequence[str], Sequence[str]] | None],
        progress: Progress | None = None,
    ) -> None:
        self._services = services
        self._root = root
        self._tree = tree
        self._graph_neighbours = graph_neighbours
        self._progress = progress

    def find(self, file: str, *, limit: int) -> Related:
        """The files that belong with one, which need not be committed yet."""
        if limit < 1:
            raise UsageError(f"The limit must be at least 1, not {limit}.")
        path = self._services.requests.files([file])[0]
        history = self._partners(path)
        neighbours = self._graph_neighbours(path)
        if neighbours is None and look(self._root, path) is None and not history:
            raise NotFoundError(
                f"There is no file {path!r}, and no commit speaks of it.",
                hint="Name it as from the project's folder.",
            )
        rankings = [
            FileRanking(HISTORY, history or ()),
            FileRanking(STRUCTURE, _neighbours(*neighbours) if neighbours else ()),
            FileRanking(SESSIONS, self._seen_along(path)),
        ]
        found = fused(
            rankings,
            is_there=lambda name: name != path and look(self._root, name) is not None,
            limit=limit,
        )
        return Related(
            file=path,
            files=tuple(found),
            expected=tuple(self._expected(history or ()))[:_MOST_EXPECTED],
            has_history=history is not None,
            has_graph=neighbours is not None,
        )

    # -- The sources ------------------------------------------------------------------------------

    def _seen_along(self, path: str) -> list[NamedFile]:
        """Files that sessions or commits touched along with it, as the memories' store has it."""
        links = self._services.store.linked_files(
            self._services.project, [path], min_weight=_MIN_WEIGHT, limit=_PARTNERS
        )
        return [NamedFile(link.file_b, (f"seen along {link.count} times",)) for link in links]

    def _expected(self, history: Sequence[NamedFile]) -> Iterator[str]:
        from wellkept.codegraph.history.co_change import EXPECTED

        for named in history[:_SURE]:
            if EXPECTED in named.reasons and look(self._root, named.path) is None:
                yield named.path

    def _partners(self, path: str) -> list[NamedFile] | None:
        """What history says; None without one."""
        head = self._head()
        if head is None:
            return None
        kept = self._kept()
        learned_at, known = kept.get("head"), kept.get("files")
        if (
            isinstance(learned_at, str)
            and isinstance(known, dict)
            and path in known
            and (learned_at == head or self._behind(learned_at) <= MAX_BEHIND)
        ):
            return _named(known[path])
        return self._learn(path, head, kept if learned_at == head else {})

    def _learn(self, path: str, head: str, kept: dict[str, Json]) -> list[NamedFile]:
        """Read the history, and keep what it says of this file and of those changed lately."""
        from wellkept.codegraph.history.co_change import learned

        commits = read_past(self._root, limit=MAX_COMMITS) or []
        model = learned(commits, tell=self._progress)
        earlier = kept.get("files")
        known: dict[str, Json] = dict(earlier) if isinstance(earlier, dict) else {}
        lately = (change.new for commit in reversed(commits) for change in commit.changes)
        there = (name for name in dict.fromkeys(lately) if model.files.number(name) is not None)
        along = [] if known else list(islice(there, LOOKED_AT_ALONG))
        for name in dict.fromkeys([path, *along]):
            known[name] = _partners_of(model, name)
        if not self._services.read_only:
            newest = dict(list(known.items())[-MAX_KEPT:])
            self._services.store.put_value(_SHELF, self._key, {"head": head, "files": newest})
        return _named(known[path])

    # -- Inside -----------------------------------------------------------------------------------

    @property
    def _key(self) -> str:
        return self._tree

    def _kept(self) -> dict[str, Json]:
        kept = self._services.store.get_value(_SHELF, self._key)
        return cast("dict[str, Json]", kept) if isinstance(kept, dict) else {}

    def _head(self) -> str | None:
        answer = ask_git(self._root, ["rev-parse", "--verify", "-q", "HEAD"])
        return answer.decode("ascii", "replace").strip() if answer else None

    def _behind(self, sha: str) -> int:
        """How many commits came since one; far too many when it is no part of the history."""
        if ask_git(self._root, ["merge-base", "--is-ancestor", sha, "HEAD"]) is None:
            return MAX_BEHIND + 1
        count = ask_git(self._root, ["rev-list", "--count", f"{sha}..HEAD"])
        return int(count) if count and count.strip().isdigit() else MAX_BEHIND + 1


def _partners_of(model: CoChange, path: str) -> list[Json]:
    found = model.partners(path, limit=_PARTNERS)
    return [[partner.path, list(partner.reasons)] for partner in found]


def _named(rows: Json) -> list[NamedFile]:
    """Partners as they were kept."""
    found: list[NamedFile] = []
    for row in rows if isinstance(rows, list) else ():
        match row:
            case [str(path), list(reasons)]:
                words = tuple(str(reason) for reason in cast("Sequence[Json]", reasons))
                found.append(NamedFile(path, words))
            case _:
                continue
    return found


def _neighbours(needs: Sequence[str], needed: Sequence[str]) -> list[NamedFile]:
    """Files one step away in the graph: what it needs and who needs it, taken in turn."""
    said: dict[str, list[str]] = {}
    for rank in range(max(len(needs), len(needed))):
        for names, reason in ((needed, "depends on it"), (needs, "it depends on this")):
            if rank < len(names):
                said.setdefault(names[rank], []).append(reason)
    return [NamedFile(name, tuple(reasons)) for name, reasons in said.items()][:_PARTNERS]
