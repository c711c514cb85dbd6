"""`wk.code_graph`: builds, queries and annotates the code graph of the open project.

The graph is a database file next to the memories. Each folder has its own graph, because worktrees
of one project differ. Memories are linked by the files they name.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from wellkept.core.errors import (
    ConflictError,
    NotFoundError,
    StoreCorruptError,
    StoreVersionError,
    UsageError,
)
from wellkept.core.file_locks import lock, lock_within, open_lock
from wellkept.core.graph import (
    NOTED_KINDS,
    SYMBOL_MARK,
    BuildProgress,
    BuildReport,
    BuildStage,
    CodeUsers,
    Edge,
    EdgeKind,
    GraphStatus,
    LinkedMemory,
    Node,
    NodeKind,
    SourceFile,
)
from wellkept.core.query import Filter
from wellkept.core.settings.paths import make_private_file
from wellkept.core.text import shorten
from wellkept.core.types import MemoryType, parse_choice
from wellkept.graph.index.builder import Builder, Tree
from wellkept.graph.index.source_files import stat_file

if TYPE_CHECKING:
    from wellkept.core.code_modules import CodeModule, Convention
    from wellkept.core.ports.graph import GraphStore
    from wellkept.core.types import Progress
    from wellkept.graph.module_notes import ModuleSummaryReport
    from wellkept.graph.query.queries import GraphQueries
    from wellkept.graph.related_files import RelatedFiles
    from wellkept.memory.workspace import Workspace

MOST_MODULES = 40
"""Default size of the module map."""
_MAX_MEMORIES = 20
_USES = (EdgeKind.IMPORTS, EdgeKind.CALLS, EdgeKind.IMPLEMENTS, EdgeKind.EXTENDS)
_MEMORY_CHARS = 300
_MAX_WAIT_S = 900.0
_MAX_CAUGHT_UP = 50
"""Up to this many changed files are parsed before a query."""
_PAUSE_FACTOR = 10.0
"""Pause between checks for changes, in multiples of what the last check took."""
_REBUILD = "Delete that file and run `wellkept graph build`. Only notes in it are lost."


class GraphApi:
    """The code graph of one project folder."""

    def __init__(self, services: Workspace) -> None:
        self._services = services
        self._next_check = 0.0

    @property
    def path(self) -> Path:
        """The database file of the graph."""
        return self._services.path.with_suffix(".graph.db")

    @cached_property
    def store(self) -> GraphStore:
        """The graph store, opened on first use."""
        from wellkept.store import open_graph

        if self._services.read_only and not self.path.exists():
            raise self._not_built()
        if not self._services.read_only:
            make_private_file(self.path)
        try:
            return open_graph(
                self.path, read_only=self._services.read_only, clock=self._services.clock
            )
        except (StoreCorruptError, StoreVersionError) as error:
            raise type(error)(error.message, hint=_REBUILD) from None

    @property
    def tree(self) -> str:
        """Name of this folder's graph in the store."""
        return f"{self._services.project} {self._root}"

    def close(self) -> None:
        """Close the store if it was opened."""
        opened: GraphStore | None = self.__dict__.get("store")
        if opened is not None:
            opened.close()

    # -- Building ---------------------------------------------------------------------------------

    def build(
        self,
        *,
        again: bool = False,
        progress: Callable[[BuildProgress], None] | None = None,
        workers: int | None = None,
    ) -> BuildReport:
        """Update the graph. Parses changed files only; with `again` all files.

        Waits for a running build of the same folder.
        """
        with self._build_lock(progress):
            return self._builder(progress, workers=workers).build(again=again)

    def update(self, files: Iterable[str]) -> BuildReport:
        """Update the graph for these files only."""
        paths = self._paths(files)
        with self._build_lock(None):
            return self._builder(None).update(paths)

    def mark_changed(self) -> list[str]:
        """Mark files that changed on disk as stale, without parsing. Returns their paths."""
        return self._builder(None).mark_changed()

    def mark_stale(self, files: Iterable[str]) -> int:
        """Mark files as stale. Returns how many are in the graph."""
        return self.store.mark_stale(self.tree, self._paths(files), at=self._services.clock())

    def forget(self) -> None:
        """Delete the graph of this folder, including its notes."""
        self.store.drop_tree(self.tree)

    # -- Querying ---------------------------------------------------------------------------------

    def status(self, *, check: bool = False) -> GraphStatus:
        """Counts, and files that are skipped, failed or stale; with `check`, files that changed on
        disk are marked as stale first."""
        if not self.path.exists():
            return GraphStatus()
        if check and not self._services.read_only and self.store.version(self.tree):
            self.mark_changed()
        return self.store.status(self.tree)

    def files(self) -> list[SourceFile]:
        """All known files."""
        return self.store.files(self.tree)

    def symbols(self, file: str) -> list[Node]:
        """Symbols of a file, by line."""
        return self.store.symbols(self.tree, self._paths([file]))

    def edges(self, name: str) -> tuple[list[Edge], list[Edge]]:
        """Edges from a node, and edges to it."""
        node = self.node(name)
        return (
            self.store.edges(self.tree, sources=[node.id]),
            self.store.edges(self.tree, targets=[node.id]),
        )

    # Queries are the methods of `GraphQueries`. Properties hand them out, so that each signature
    # exists once and numpy is imported only when a query runs.

    @property
    def node(self) -> Callable[[str], Node]:
        """See `GraphQueries.node`."""
        return self._queries.node

    @property
    def impact(self):
        """See `GraphQueries.impact`."""
        return self._queries.impact

    @property
    def dependencies(self):
        """See `GraphQueries.dependencies`."""
        return self._queries.dependencies

    @property
    def dependents(self):
        """See `GraphQueries.dependents`."""
        return self._queries.dependents

    @property
    def trace(self):
        """See `GraphQueries.trace`."""
        return self._queries.trace

    @property
    def coverage(self):
        """See `GraphQueries.coverage`."""
        return self._queries.coverage

    def related(
        self, file: str, *, limit: int = 10, progress: Progress | None = None
    ) -> RelatedFiles:
        """Files that change with a file, depend on it or are used with it, with reasons.

        Works without a graph and without git.
        """
        from wellkept.graph.related_files import RelatedFileFinder

        (path,) = self._paths([file])
        has_graph = self.path.exists() and self.store.file(self.tree, path) is not None
        finder = RelatedFileFinder(
            self._services.store,
            project=self._services.project,
            root=self._root,
            tree=self.tree,
            read_only=self._services.read_only,
            progress=progress,
        )
        return finder.find(path, graph=self._queries if has_graph else None, limit=limit)

    # -- Modules ----------------------------------------------------------------------------------

    def modules(self, *, limit: int = MOST_MODULES) -> tuple[CodeModule, ...]:
        """The module map: purpose, contents, exports and dependencies of each code folder."""
        from wellkept.graph.modules.module_map import modules_of

        if limit < 1:
            raise UsageError(f"The limit must be at least 1, not {limit}.")
        self._require_built()
        return modules_of(self.store, self.tree, root=self._root, limit=limit)

    def conventions(self) -> tuple[Convention, ...]:
        """Coding conventions, from configuration files and from what files have in common."""
        from wellkept.graph.modules.conventions import conventions_of

        self._require_built()
        return conventions_of(self._root, self.files())

    def summarise(
        self,
        *,
        dry_run: bool = False,
        with_model: bool = True,
        again: bool = False,
        progress: Progress | None = None,
    ) -> ModuleSummaryReport:
        """Store the purpose of each module, and the conventions, as memories.

        `again` also restores what was forgotten since, and asks the model again.
        """
        from wellkept.graph.module_notes import ModuleNotes

        modules, conventions = self.modules(), self.conventions()
        notes = ModuleNotes(
            self._services.engine,
            self._services.project,
            self._root,
            daily_tokens=self._services.settings.capture_daily_model_tokens,
            dry_run=dry_run,
            with_model=with_model,
            again=again,
        )
        return notes.save(modules, conventions, progress=progress)

    # -- Notes ------------------------------------------------------------------------------------

    def note(self, kind: str, name: str, *, text: str = "") -> Node:
        """Add a pattern, data flow, invariant or decision to the graph."""
        chosen = parse_choice(NodeKind, kind, what="kind")
        if chosen not in NOTED_KINDS:
            raise UsageError(
                f"A {kind} cannot be noted: it is extracted from source.",
                hint=f"Note one of: {', '.join(sorted(NOTED_KINDS))}.",
            )
        named = " ".join(name.split())
        if not named:
            raise UsageError(f"A {kind} needs a name.")
        node = Node(id=f"{chosen}:{named}", kind=chosen, name=named, signature=text)
        self.store.put_notes(self.tree, nodes=[node], edges=())
        return node

    def link(self, source: str, kind: str, target: str, *, confidence: float = 1.0) -> Edge:
        """Add an edge between two nodes."""
        edge = Edge(
            source=self.node(source).id,
            target=self.node(target).id,
            kind=parse_choice(EdgeKind, kind, what="kind of edge"),
            confidence=confidence,
            auto=False,
        )
        if not 0 < confidence <= 1:
            raise UsageError(f"The confidence must be above 0 and at most 1, not {confidence}.")
        self.store.put_notes(self.tree, nodes=(), edges=[edge])
        return edge

    def notes(self) -> tuple[list[Node], list[Edge]]:
        """Noted nodes (patterns, data flows, invariants, decisions) and noted edges."""
        if not self.path.exists():
            return [], []
        nodes = [node for node in self.store.all_nodes(self.tree) if node.kind in NOTED_KINDS]
        return nodes, [edge for edge in self.store.edges(self.tree) if not edge.auto]

    def drop_note(self, name: str, *, dry_run: bool = False) -> int:
        """Delete a note, or every noted edge of a file or symbol. Returns how many were deleted."""
        if dry_run:
            nodes, edges = self.notes()
            dropped = sum(node.id == name for node in nodes)
            dropped += sum(name in (edge.source, edge.target) for edge in edges)
        else:
            dropped = self.store.drop_notes(self.tree, [name])
        if not dropped:
            raise NotFoundError(f"There is no note {name!r}.", hint="Run: wellkept graph show")
        return dropped

    # -- Inside -----------------------------------------------------------------------------------

    @cached_property
    def _root(self) -> Path:
        return self._services.root

    def users(self, name: str) -> CodeUsers | None:
        """Who uses a file or symbol directly, by files that did not change since; None where the
        graph has no such name, or more than one."""
        found = self.store.find(self.tree, name, limit=2) if self.path.exists() else []
        if len(found) != 1 or (path := found[0].path) is None:
            return None
        node = found[0]
        inside = f"{node.qualname}."
        own = [
            one.id
            for one in self.store.symbols(self.tree, [path])
            if node.kind is NodeKind.FILE or one.qualname.startswith(inside)
        ]
        edges = self.store.edges(self.tree, targets=[node.id, *own])
        ids = {edge.source for edge in edges if edge.kind in _USES}
        nodes = self.store.nodes(self.tree, ids).values()
        paths = sorted({one.path for one in nodes if one.path} - {path})
        known = [one for one in paths if not self._is_changed(one)]
        tests = {one for one in known if (file := self.store.file(self.tree, one)) and file.is_test}
        return CodeUsers(
            name=path if node.kind is NodeKind.FILE else f"{node.qualname or node.name} ({path})",
            path=path,
            files=tuple(one for one in known if one not in tests),
            tests=tuple(one for one in known if one in tests),
        )

    @cached_property
    def _queries(self) -> GraphQueries:
        from wellkept.graph.query.queries import GraphQueries

        return GraphQueries(
            self.store,
            self.tree,
            root=self._root,
            linked_memories=self._linked_memories,
            resolve=self._resolve,
        )

    @contextmanager
    def _build_lock(self, progress: Callable[[BuildProgress], None] | None) -> Generator[None]:
        """One build of a folder at a time, across processes: a second one could link files by
        names that the first is about to replace."""
        if self._services.read_only:  # the store refuses the first write
            yield
            return
        with open_lock(self._locks, self.tree) as file:
            if not lock(file):
                if progress is not None:
                    progress(BuildProgress(stage=BuildStage.WAIT, done=0, total=0, module=""))
                if not lock_within(file, _MAX_WAIT_S):
                    raise ConflictError(
                        f"Another build of {self._root} has not ended for {_MAX_WAIT_S:g} s.",
                        hint="If that process hangs, end it. What it wrote is kept.",
                    )
            yield

    @property
    def _locks(self) -> Path:
        return self.path.parent / "locks"

    def _builder(
        self, progress: Callable[[BuildProgress], None] | None, *, workers: int | None = None
    ) -> Builder:
        from wellkept.graph.parse.grammars import require_grammars

        require_grammars()
        tree = Tree(root=self._root, name=self.tree)
        return Builder(
            self.store, tree, clock=self._services.clock, progress=progress, workers=workers
        )

    def _paths(self, files: Iterable[str]) -> list[str]:
        return list(self._services.requests.files(list(files)))

    @property
    def is_built(self) -> bool:
        """Whether this folder has a graph."""
        return self.path.exists() and bool(self.store.version(self.tree))

    def _require_built(self) -> None:
        if not self.is_built:
            raise self._not_built()

    def _not_built(self) -> NotFoundError:
        return NotFoundError(
            f"There is no code graph of {self._root} yet.", hint="Run: wellkept graph build"
        )

    def _resolve(self, name: str) -> str:
        """The node id for a name. Updates the graph first. A path may be relative to the current
        folder."""
        self._require_built()
        self._catch_up(name)
        known = self.store.find(self.tree, name, limit=2)
        if not known and ":" not in name and not name.endswith("/"):
            known = self.store.find(self.tree, self._paths([name])[0], limit=2)
        return known[0].id if len(known) == 1 else name

    def _catch_up(self, name: str) -> None:
        """Parse what changed on disk, if it is little; otherwise mark it as stale.

        Never waits for a build. The named file is checked each time, all files only now and then,
        so that a series of queries stays fast.
        """
        if self._services.read_only:
            return
        path = self._paths([name.partition(SYMBOL_MARK)[0]])[0]
        if perf_counter() < self._next_check and not self._is_changed(path):
            return
        began = perf_counter()
        with open_lock(self._locks, self.tree) as file:
            if lock(file):
                self._builder(None).catch_up(max_files=_MAX_CAUGHT_UP)
        ended = perf_counter()
        self._next_check = ended + _PAUSE_FACTOR * (ended - began)

    def _is_changed(self, path: str) -> bool:
        """Whether a file differs from what the graph knows."""
        found, known = stat_file(self._root, path), self.store.file(self.tree, path)
        if found is None or known is None:
            return found is not known
        return (found.size_bytes, found.mtime_ns) != (known.size_bytes, known.mtime_ns)

    def _linked_memories(self, files: Sequence[str]) -> Sequence[LinkedMemory]:
        """Memories that name any of these files, most links first. E2E observations are searched
        separately, so that others do not crowd them out."""
        e2e = (MemoryType.E2E_OBSERVATION,)
        others = tuple(type_ for type_ in MemoryType if type_ not in e2e)
        return [*self._linked(files, others), *self._linked(files, e2e)]

    def _linked(self, files: Sequence[str], types: tuple[MemoryType, ...]) -> list[LinkedMemory]:
        store = self._services.store
        where = Filter(project=self._services.project, stale=False, types=types)
        hits = store.search_links(files=files, modules=(), where=where, limit=_MAX_MEMORIES)
        return [
            LinkedMemory(
                id=memory.short,
                type=memory.type.value,
                text=shorten(memory.content, limit=_MEMORY_CHARS),
                files=memory.files,
            )
            for memory in store.get([hit.id for hit in hits])
        ]
