"""`graph show --related`: files related to a file by history, dependencies and sessions.

Each source ranks on its own scale, so ranks are combined, not scores. Learning a long history takes
seconds: predictions are cached in the store with the commit they were learned at, and reused until
history has moved on. Recently changed files are predicted in the same run.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from wellkept.core.codec import Json
from wellkept.core.errors import NotFoundError, UsageError
from wellkept.core.git.run import ask_git
from wellkept.core.records import record
from wellkept.graph.history.git_log import read_past
from wellkept.graph.index.file_kind import is_generated
from wellkept.graph.index.source_files import stat_file

if TYPE_CHECKING:
    from wellkept.core.ports.store import Store
    from wellkept.core.types import Progress
    from wellkept.graph.query.queries import GraphQueries

MAX_COMMITS: Final = 5_000
MAX_BEHIND: Final = 20
"""Cached predictions are reused for this many new commits."""
PREDICTED_TOGETHER: Final = 400
MAX_CACHED: Final = 1_000
_NAMESPACE: Final = "co_change"
_PARTNERS: Final = 20
_MIN_WEIGHT: Final = 0.1
_MAX_EXPECTED: Final = 3
_EXPECTED_RANK: Final = 8
"""A missing file is reported only if it is among the first predictions."""
_HISTORY, _GRAPH, _SESSIONS = 1.0, 0.7, 0.5
"""Weight of each source."""
_RANK_SMOOTHING: Final = 4.0
"""Larger values give the first rank less advantage."""

Reasons = Mapping[str, Sequence[str]]
"""Reasons by path, best path first."""


@record
class RelatedFile:
    """A related file. `score` is 1 if every source ranks it first."""

    path: str
    score: float
    reasons: tuple[str, ...]


@record(kw_only=True)
class RelatedFiles:
    """Files related to one, and whether history and the graph contributed.

    `expected` files do not exist yet, but files of similar names have one, such as a test.
    """

    file: str
    files: tuple[RelatedFile, ...]
    expected: tuple[str, ...] = ()
    has_history: bool
    has_graph: bool

    def as_text(self) -> str:
        """The files with their reasons, and those that are missing."""
        lines = [f"{one.score:.2f} {one.path}  ({', '.join(one.reasons)})" for one in self.files]
        if not lines:
            lines.append("No related files known.")
        if not self.has_graph:
            told = "Not in the code graph. Run `wellkept graph build` to include dependencies."
            lines.append(told)
        if self.expected:
            told = ", ".join(self.expected)
            lines.append(f"Expected by naming pattern, but missing: {told}")
        return "\n".join(lines)


class RelatedFileFinder:
    """Finds related files in one project folder. `tree` is the cache key of the folder."""

    def __init__(
        self,
        store: Store,
        *,
        project: str,
        root: Path,
        tree: str,
        read_only: bool,
        progress: Progress | None = None,
    ) -> None:
        self._store = store
        self._project = project
        self._root = root
        self._tree = tree
        self._read_only = read_only
        self._progress = progress

    def find(self, path: str, *, graph: GraphQueries | None, limit: int) -> RelatedFiles:
        """Files related to one, which need not be committed. `graph` is None if it lacks it."""
        if limit < 1:
            raise UsageError(f"The limit must be at least 1, not {limit}.")
        history = self._predictions(path)
        if graph is None and stat_file(self._root, path) is None and not history:
            raise NotFoundError(
                f"There is no file {path!r}, and no commit names it.",
                hint="Give the path relative to the project folder.",
            )
        found = fuse(
            [
                (_HISTORY, history or {}),
                (_GRAPH, _neighbours(graph, path) if graph is not None else {}),
                (_SESSIONS, self._used_together(path)),
            ],
            exists=lambda name: name != path and stat_file(self._root, name) is not None,
            limit=limit,
        )
        return RelatedFiles(
            file=path,
            files=tuple(found),
            expected=tuple(self._expected(history or {}))[:_MAX_EXPECTED],
            has_history=history is not None,
            has_graph=graph is not None,
        )

    # -- Sources ----------------------------------------------------------------------------------

    def _used_together(self, path: str) -> Reasons:
        """Files that sessions or commits touched together with it, from the memory store."""
        links = self._store.linked_files(
            self._project, [path], min_weight=_MIN_WEIGHT, limit=_PARTNERS
        )
        return {link.file_b: (f"used together {link.count} times",) for link in links}

    def _expected(self, history: Reasons) -> Iterator[str]:
        from wellkept.graph.history.co_change import EXPECTED

        for path, reasons in islice(history.items(), _EXPECTED_RANK):
            if EXPECTED in reasons and stat_file(self._root, path) is None:
                yield path

    def _predictions(self, path: str) -> Reasons | None:
        """Co-change predictions, from the cache or learned now; None without a history."""
        answer = ask_git(self._root, ["rev-parse", "--verify", "-q", "HEAD"])
        head = answer.decode("ascii", "replace").strip() if answer else None
        if head is None:
            return None
        value = self._store.get_value(_NAMESPACE, self._tree)
        cached = cast("dict[str, Json]", value) if isinstance(value, dict) else {}
        learned_at, known = cached.get("head"), cached.get("files")
        if (
            isinstance(learned_at, str)
            and isinstance(known, dict)
            and path in known
            and (learned_at == head or self._commits_since(learned_at) <= MAX_BEHIND)
        ):
            return _from_json(known[path])
        return self._learn(path, head, cached if learned_at == head else {})

    def _learn(self, path: str, head: str, cached: dict[str, Json]) -> Reasons:
        """Learn the history, and cache predictions for this file and recently changed ones."""
        from wellkept.graph.history.co_change import train

        commits = read_past(self._root, limit=MAX_COMMITS) or []
        model = train(commits, progress=self._progress)
        earlier = cached.get("files")
        known: dict[str, Json] = dict(earlier) if isinstance(earlier, dict) else {}
        changed = (change.new for commit in reversed(commits) for change in commit.changes)
        present = (name for name in dict.fromkeys(changed) if model.files.number(name) is not None)
        recent = [] if known else list(islice(present, PREDICTED_TOGETHER))
        for name in dict.fromkeys([path, *recent]):
            found = model.partners(name, limit=_PARTNERS)
            known[name] = [[partner.path, list(partner.reasons)] for partner in found]
        if not self._read_only:
            newest = dict(list(known.items())[-MAX_CACHED:])
            self._store.put_value(_NAMESPACE, self._tree, {"head": head, "files": newest})
        return _from_json(known[path])

    # -- Inside -----------------------------------------------------------------------------------

    def _commits_since(self, sha: str) -> int:
        """Number of commits since one; over the limit if it is no longer part of the history."""
        if ask_git(self._root, ["merge-base", "--is-ancestor", sha, "HEAD"]) is None:
            return MAX_BEHIND + 1
        count = ask_git(self._root, ["rev-list", "--count", f"{sha}..HEAD"])
        return int(count) if count and count.strip().isdigit() else MAX_BEHIND + 1


def fuse(
    rankings: Sequence[tuple[float, Reasons]], *, exists: Callable[[str], bool], limit: int
) -> list[RelatedFile]:
    """Combine weighted rankings, best first, generated files last. Files that do not exist are
    skipped."""
    scores: defaultdict[str, float] = defaultdict(float)
    reasons: defaultdict[str, list[str]] = defaultdict(list)
    for weight, ranking in rankings:
        for rank, path in enumerate(path for path in ranking if exists(path)):
            scores[path] += weight * _RANK_SMOOTHING / (_RANK_SMOOTHING + rank)
            reasons[path] += ranking[path]
    most = sum(weight for weight, ranking in rankings if ranking) or 1.0
    best = sorted(scores, key=lambda path: (is_generated(path), -scores[path], path))[:limit]
    return [
        RelatedFile(path, round(scores[path] / most, 3), tuple(dict.fromkeys(reasons[path])))
        for path in best
    ]


def _neighbours(graph: GraphQueries, path: str) -> Reasons:
    """Direct dependents and dependencies, alternating."""
    dependencies = graph.dependencies(path, depth=1, limit=1).files
    dependents = graph.dependents(path, depth=1, limit=1).files
    reasons: dict[str, list[str]] = {}
    for rank in range(max(len(dependencies), len(dependents))):
        for names, reason in ((dependents, "depends on it"), (dependencies, "it depends on this")):
            if rank < len(names):
                reasons.setdefault(names[rank], []).append(reason)
    return dict(islice(reasons.items(), _PARTNERS))


def _from_json(rows: Json) -> Reasons:
    found: dict[str, tuple[str, ...]] = {}
    for row in rows if isinstance(rows, list) else ():
        match row:
            case [str(path), list(reasons)]:
                found[path] = tuple(str(r) for r in cast("Sequence[Json]", reasons))
            case _:
                continue
    return found
