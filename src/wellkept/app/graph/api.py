"""`wk.graph`: the code graph of the open project, with everything that can be asked of it.

The graph lives in a file beside the memories. Each folder has its own, because two worktrees of
one project differ in content; memories are tied in by the files they name.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from wellkept.app.file_locks import lock, lock_within, open_lock
from wellkept.codegraph.index.builder import Builder, Tree
from wellkept.codegraph.index.source_files import look
from wellkept.core.errors import (
    ConflictError,
    NotFoundError,
    StoreCorruptError,
    StoreVersionError,
    UsageError,
)
from wellkept.core.graph import (
    MAX_DEPTH,
    NOTED_KINDS,
    SYMBOL_MARK,
    BuildProgress,
    BuildReport,
    BuildStage,
    Coverage,
    Edge,
    EdgeKind,
    GraphStatus,
    Impact,
    LinkedMemory,
    Neighbours,
    Node,
    NodeKind,
    SourceFile,
    Trace,
)
from wellkept.core.query import Filter
from wellkept.core.text import shorten
from wellkept.core.types import MemoryType, parse_choice

if TYPE_CHECKING:
    from wellkept.app.graph.module_notes import ModuleSummaryReport
    from wellkept.app.graph.related import Related
    from wellkept.app.wiring.services import Services
    from wellkept.codegraph.query.queries import GraphQueries
    from wellkept.core.code_modules import CodeModule, Convention
    from wellkept.core.ports.graph import GraphStore
    from wellkept.core.ports.store import Progress

MOST_MODULES = 40
"""So many modules are still a map that can be read."""
_MOST_MEMORIES = 20
_MEMORY_CHARS = 300
_LONGEST_WAIT_S = 900.0
_MOST_CAUGHT_UP = 50
"""So many changed files are read before a question is answered."""
_REST = 10.0
"""Times as long as a look for changes took, until the next one."""
_RENEW = "Delete that file and run `wellkept graph build`; only what was noted in it is lost."


class GraphApi:
    """The code graph of one project folder."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._next_look = 0.0

    @property
    def path(self) -> Path:
        """The file that the graph is kept in."""
        return self._services.path.with_suffix(".graph.db")

    @cached_property
    def store(self) -> GraphStore:
        """The storage underneath, opened on first use."""
        from wellkept.app.wiring.services import make_private_file
        from wellkept.store import open_sqlite_graph

        if self._services.read_only and not self.path.exists():
            raise self._not_built()
        if not self._services.read_only:
            make_private_file(self.path)
        try:
            return open_sqlite_graph(
                self.path,
                busy_timeout_ms=self._services.settings.store_busy_timeout_ms,
                read_only=self._services.read_only,
                clock=self._services.clock,
            )
        except (StoreCorruptError, StoreVersionError) as error:
            raise type(error)(error.message, hint=_RENEW) from None

    @property
    def tree(self) -> str:
        """The name that this folder's graph is kept under."""
        return f"{self._services.project} {self._root}"

    def close(self) -> None:
        """Let go of the storage if it was opened."""
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
        """Bring the graph up to date: only what changed is read again, unless `again` says all.

        Waits for another build of the same folder, which has then done most of the work.
        """
        with self._alone(progress):
            return self._builder(progress, workers=workers).build(again=again)

    def update(self, files: Iterable[str]) -> BuildReport:
        """Bring the graph up to date about these files only."""
        named = self._named(files)
        with self._alone(None):
            return self._builder(None).update(named)

    def mark_changed(self) -> list[str]:
        """Mark what changed on disk since it was read as stale; nothing is parsed."""
        return self._builder(None).mark_changed()

    def mark_stale(self, files: Iterable[str]) -> int:
        """Mark files as stale; returns how many of them are in the graph."""
        return self.store.mark_stale(self.tree, self._named(files), at=self._services.clock())

    def forget(self) -> None:
        """Drop the graph of this folder, with what was noted in it."""
        self.store.drop_tree(self.tree)

    # -- Asking -----------------------------------------------------------------------------------

    def status(self) -> GraphStatus:
        """How much of the tree is known, and what was skipped, failed or is stale."""
        return self.store.status(self.tree)

    def files(self) -> list[SourceFile]:
        """Every file that was seen."""
        return self.store.files(self.tree)

    def node(self, name: str) -> Node:
        """What an id, a path or a symbol's name stands for."""
        self._require_built()
        self._catch_up(name)
        return self._questions.node(self._meant(name))

    def symbols(self, file: str) -> list[Node]:
        """The symbols of a file, by line."""
        return self.store.symbols(self.tree, self._named([file]))

    def edges(self, name: str) -> tuple[list[Edge], list[Edge]]:
        """The edges that leave something, and those that lead to it."""
        node = self.node(name)
        return (
            self.store.edges(self.tree, sources=[node.id]),
            self.store.edges(self.tree, targets=[node.id]),
        )

    def impact(self, name: str, *, depth: int = MAX_DEPTH, limit: int = 200) -> Impact:
        """What a change of a file or symbol may touch: code, tests, memories, E2E facts."""
        return self._questions.impact(self.node(name).id, depth=depth, limit=limit)

    def dependencies(self, name: str, *, depth: int = MAX_DEPTH, limit: int = 200) -> Neighbours:
        """What a file or symbol depends on."""
        return self._questions.dependencies(self.node(name).id, depth=depth, limit=limit)

    def dependents(self, name: str, *, depth: int = MAX_DEPTH, limit: int = 200) -> Neighbours:
        """What depends on a file or symbol."""
        return self._questions.dependents(self.node(name).id, depth=depth, limit=limit)

    def trace(
        self,
        name: str,
        *,
        to: str | None = None,
        value: str = "",
        depth: int = MAX_DEPTH,
        limit: int = 20,
    ) -> Trace:
        """The ways that values take from a file or symbol: through assignments, arguments, results
        and fields, and over noted flows. `value` follows one parameter, variable or field only."""
        target = None if to is None else self.node(to).id
        return self._questions.trace(
            self.node(name).id, to=target, value=value, depth=depth, limit=limit
        )

    def coverage(self, name: str, *, depth: int = MAX_DEPTH) -> Coverage:
        """The tests that reach a file or symbol, and what none of them reaches."""
        return self._questions.coverage(self.node(name).id, depth=depth)

    def related(self, file: str, *, limit: int = 10, progress: Progress | None = None) -> Related:
        """Files that change, depend or are opened along with a file, with reasons.

        Works without a graph and without git, with what there is.
        """
        from wellkept.app.graph.related import RelatedFiles

        found = RelatedFiles(
            self._services,
            self._root,
            tree=self.tree,
            graph_neighbours=self._neighbour_files,
            progress=progress,
        )
        return found.find(file, limit=limit)

    def _neighbour_files(self, path: str) -> tuple[Sequence[str], Sequence[str]] | None:
        """Files that one depends on and that depend on it; None when the graph has no such file."""
        if not self.path.exists() or not self.store.file(self.tree, path):
            return None
        needs = self.dependencies(path, depth=1, limit=1).files
        return needs, self.dependents(path, depth=1, limit=1).files

    # -- Modules ----------------------------------------------------------------------------------

    def modules(self, *, limit: int = MOST_MODULES) -> tuple[CodeModule, ...]:
        """The module map: what each folder of code holds, is for, gives and depends on."""
        from wellkept.codegraph.modules.module_map import modules_of

        if limit < 1:
            raise UsageError(f"The limit must be at least 1, not {limit}.")
        self._require_built()
        return modules_of(self.store, self.tree, root=self._root, limit=limit)

    def conventions(self) -> tuple[Convention, ...]:
        """How code is written here, from configuration files and from what files have in common."""
        from wellkept.codegraph.modules.conventions import conventions_of

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
        """Keep what each module is for, and the conventions, as memories; once for each.

        `again` also takes up what was forgotten since, and asks a model anew.
        """
        from wellkept.app.graph.module_notes import ModuleNotes

        modules, conventions = self.modules(), self.conventions()
        notes = ModuleNotes(
            self._services, self._root, dry_run=dry_run, with_model=with_model, again=again
        )
        return notes.keep(modules, conventions, progress=progress)

    # -- Noting -----------------------------------------------------------------------------------

    def note(self, kind: str, name: str, *, text: str = "") -> Node:
        """Add a pattern, data flow, invariant or decision to the graph."""
        chosen = parse_choice(NodeKind, kind, what="kind")
        if chosen not in NOTED_KINDS:
            raise UsageError(
                f"A {kind} is read from source.",
                hint=f"Note one of: {', '.join(sorted(NOTED_KINDS))}.",
            )
        named = " ".join(name.split())
        if not named:
            raise UsageError(f"A {kind} needs a name.")
        node = Node(id=f"{chosen}:{named}", kind=chosen, name=named, signature=text)
        self.store.put_notes(self.tree, nodes=[node], edges=())
        return node

    def link(self, source: str, kind: str, target: str, *, confidence: float = 1.0) -> Edge:
        """Say how two things in the graph stand to each other."""
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
        """What somebody noted: patterns, data flows, invariants, decisions, and links."""
        nodes = [node for node in self.store.all_nodes(self.tree) if node.kind in NOTED_KINDS]
        return nodes, [edge for edge in self.store.edges(self.tree) if not edge.auto]

    def drop_note(self, name: str, *, dry_run: bool = False) -> int:
        """Take back a note, or every link that was noted at a file or symbol; returns how many
        notes and links that are."""
        if dry_run:
            nodes, edges = self.notes()
            dropped = sum(node.id == name for node in nodes)
            dropped += sum(name in (edge.source, edge.target) for edge in edges)
        else:
            dropped = self.store.drop_notes(self.tree, [name])
        if not dropped:
            raise NotFoundError(f"Nothing was noted as {name!r}.", hint="See: wellkept graph notes")
        return dropped

    # -- Inside -----------------------------------------------------------------------------------

    @cached_property
    def _root(self) -> Path:
        return self._services.identity.root

    @cached_property
    def _questions(self) -> GraphQueries:
        from wellkept.codegraph.query.queries import GraphQueries

        return GraphQueries(self.store, self.tree, root=self._root, linked=self._memories)

    @contextmanager
    def _alone(self, tell: Callable[[BuildProgress], None] | None) -> Generator[None]:
        """No second build of this folder meanwhile, in whichever process: one could link a file
        by names that the other is about to replace."""
        if self._services.read_only:  # the store says so at the first write
            yield
            return
        with open_lock(self._locks, self.tree) as file:
            if not lock(file):
                if tell is not None:
                    tell(BuildProgress(stage=BuildStage.WAIT, done=0, total=0, module=""))
                if not lock_within(file, _LONGEST_WAIT_S):
                    raise ConflictError(
                        f"Another build of {self._root} has not ended for {_LONGEST_WAIT_S:g} s.",
                        hint="End that process if it hangs; what it wrote is kept.",
                    )
            yield

    @property
    def _locks(self) -> Path:
        return self.path.parent / "locks"

    def _builder(
        self, progress: Callable[[BuildProgress], None] | None, *, workers: int | None = None
    ) -> Builder:
        from wellkept.codegraph.parse.grammars import require_grammars

        require_grammars()
        tree = Tree(root=self._root, name=self.tree)
        return Builder(self.store, tree, clock=self._services.clock, tell=progress, workers=workers)

    def _named(self, files: Iterable[str]) -> list[str]:
        return list(self._services.requests.files(list(files)))

    def _require_built(self) -> None:
        if not self.store.version(self.tree):
            raise self._not_built()

    def _not_built(self) -> NotFoundError:
        return NotFoundError(
            f"There is no code graph of {self._root} yet.", hint="Run: wellkept graph build"
        )

    def _meant(self, name: str) -> str:
        """The name as the graph has it; a path may also be given from the current folder."""
        known = self.store.find(self.tree, name, limit=2)
        if not known and ":" not in name and not name.endswith("/"):
            known = self.store.find(self.tree, self._named([name])[0], limit=2)
        return known[0].id if len(known) == 1 else name

    def _catch_up(self, name: str) -> None:
        """Read what changed on disk since, if it is little; a lot is only marked as stale.

        Never waits for a build. All files are looked at so seldom that it adds little to a series
        of questions; the file that is asked about always is.
        """
        if self._services.read_only:
            return
        path = self._named([name.partition(SYMBOL_MARK)[0]])[0]
        if perf_counter() < self._next_look and not self._is_changed(path):
            return
        began = perf_counter()
        with open_lock(self._locks, self.tree) as file:
            if lock(file):
                self._builder(None).catch_up(most=_MOST_CAUGHT_UP)
        ended = perf_counter()
        self._next_look = ended + _REST * (ended - began)

    def _is_changed(self, path: str) -> bool:
        """Whether a file is not as the graph has it."""
        found, kept = look(self._root, path), self.store.file(self.tree, path)
        if found is None or kept is None:
            return found is not kept
        return (found.size_bytes, found.mtime_ns) != (kept.size_bytes, kept.mtime_ns)

    def _memories(self, files: Sequence[str]) -> Sequence[LinkedMemory]:
        """Memories tied to any of these files, those with the most ties first. Facts about the
        running application are looked for apart, so that they are never crowded out."""
        e2e = (MemoryType.E2E_OBSERVATION,)
        others = tuple(type_ for type_ in MemoryType if type_ not in e2e)
        return [*self._tied(files, others), *self._tied(files, e2e)]

    def _tied(self, files: Sequence[str], types: tuple[MemoryType, ...]) -> list[LinkedMemory]:
        store = self._services.store
        where = Filter(project=self._services.project, stale=False, types=types)
        hits = store.search_links(files=files, modules=(), where=where, limit=_MOST_MEMORIES)
        return [
            LinkedMemory(
                id=memory.short,
                type=memory.type.value,
                text=shorten(memory.content, limit=_MEMORY_CHARS),
                files=memory.files,
            )
            for memory in store.get([hit.id for hit in hits])
        ]
