"""Builds and updates the graph of a tree: parses changed files, rebuilds the affected edges.

Invariant: after any sequence of updates the graph equals one built from scratch. Work is written in
batches. Before a batch of files is replaced, every file whose edges may depend on them is marked
pending. So an interrupted build leaves only pending files, and the next run continues there.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TypeVar

from wellkept.core.clock import Clock
from wellkept.core.graph import (
    MODULE_PREFIX,
    SYMBOL_MARK,
    BuildProgress,
    BuildReport,
    BuildStage,
    FileState,
    Node,
    NodeKind,
    SourceFile,
)
from wellkept.core.ports.graph import AnalyzedFile, GraphStore
from wellkept.core.records import record
from wellkept.graph.index.parse_file import ParsedFile, versioned_hash
from wellkept.graph.index.source_files import ListedFile, list_files, stat_file
from wellkept.graph.index.update_plan import Known, UpdatePlan, is_indexed, plan_update
from wellkept.graph.index.worker_pool import FILE_TIMEOUT_S, WorkerPool, worker_count
from wellkept.graph.languages import is_configuration, language_name, language_of
from wellkept.graph.parse.file_facts import uses_from_bytes
from wellkept.graph.parse.resolver_context import ResolverContext
from wellkept.graph.parse.tree_index import (
    TreeIndex,
    changed_keys,
    containers,
    lookup_key,
    module_by_folder,
)
from wellkept.graph.resolve.edges import EdgeBuilder

Parse = Callable[[Sequence[str]], Iterable[ParsedFile]]
"""Parses paths; yields exactly one result per path."""
_Item = TypeVar("_Item")

_BATCH = 100
_PROGRESS_EVERY = 10
_GC_THRESHOLD = 100_000


@record(kw_only=True)
class Tree:
    """A source tree: its folder, and the name of its graph in the store."""

    root: Path
    name: str


@contextmanager
def _reduced_gc() -> Generator[None, None, None]:
    """Run the cycle collector less often: a build creates many records and few cycles."""
    before = gc.get_threshold()
    if before[0]:  # 0: garbage collection is off, leave it so
        gc.set_threshold(max(before[0], _GC_THRESHOLD), *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


class Builder:
    """Builds and updates the graph of one tree."""

    def __init__(
        self,
        store: GraphStore,
        tree: Tree,
        *,
        clock: Clock,
        progress: Callable[[BuildProgress], None] | None = None,
        workers: int | None = None,
        timeout_s: float = FILE_TIMEOUT_S,
        parse: Parse | None = None,
    ) -> None:
        self._store = store
        self._tree = tree
        self._clock = clock
        self._progress = progress
        self._workers = workers
        self._timeout_s = timeout_s
        self._given_parse = parse

    def build(self, *, again: bool = False) -> BuildReport:
        """Update the whole tree; `again` parses unchanged files too."""
        began, known, listed = time.perf_counter(), self._known(), self._listed()
        return self._apply(known, listed, self._plan(known, listed, again=again), began)

    def update(self, paths: Iterable[str]) -> BuildReport:
        """Update only these files: changed, new or deleted."""
        began, known = time.perf_counter(), self._known()
        indexed = [path for path in dict.fromkeys(paths) if is_indexed(path)]
        found = [f for path in indexed if (f := stat_file(self._tree.root, path)) is not None]
        about = {path: known[path] for path in indexed if path in known}
        return self._apply(known, found, self._plan(about, found), began)

    def mark_changed(self) -> list[str]:
        """Mark files that changed on disk as stale, without parsing. Returns their paths."""
        return self.catch_up(max_files=0)

    def catch_up(self, *, max_files: int) -> list[str]:
        """Update the graph if at most `max_files` changed on disk; otherwise mark them as stale.
        Returns the paths that were not parsed."""
        began, known, listed = time.perf_counter(), self._known(), self._listed()
        # Failed files wait for the next build: a hanging parser would delay each query.
        plan = self._plan(known, listed).without_old_failures(known)
        changed = sorted([f.path for f in plan.parse] + plan.gone)
        if changed and len(changed) <= max_files:
            self._apply(known, listed, plan, began)
            return []
        fresh = [path for path in changed if path in known and known[path].stale_at is None]
        if fresh:
            self._store.mark_stale(self._tree.name, fresh, at=self._clock())
        if plan.settled:  # so that the next query need not read them
            self._store.touch_files(self._tree.name, plan.settled)
        return changed

    def _known(self) -> dict[str, SourceFile]:
        return {file.path: file for file in self._store.files(self._tree.name)}

    def _listed(self) -> list[ListedFile]:
        return [file for file in list_files(self._tree.root) if is_indexed(file.path)]

    def _plan(self, known: Known, listed: list[ListedFile], *, again: bool = False) -> UpdatePlan:
        """Plan an update in which known files that are not listed are deleted."""
        gone = sorted(known.keys() - {file.path for file in listed})
        return plan_update(self._tree.root, known, listed, gone, now=self._clock(), again=again)

    @_reduced_gc()
    def _apply(
        self, known: Known, listed: Sequence[ListedFile], plan: UpdatePlan, began: float
    ) -> BuildReport:
        after = self._mark_pending_for_moves(known, plan)
        analysed = self._parse(plan, after)
        if plan.same:
            self._store.touch_files(self._tree.name, plan.same)
        parsed_at = time.perf_counter()
        if plan.gone or plan.skip or any(_is_moved(file, known) for file in analysed):
            self._put_containers()
        fresh = {file.path: file for file in (*plan.skip, *analysed)}
        relinked = self._link(TreeIndex((after.files | fresh).values()))
        self._store.mark_built(self._tree.name, at=self._clock())
        failed = [f for f in analysed if f.state in (FileState.FAILED, FileState.PARTLY)]
        return BuildReport(
            seen=len(listed),
            reanalysed=len(analysed),
            unchanged=plan.unchanged + len(plan.same),
            removed=len(plan.gone),
            relinked=relinked,
            skipped=len(plan.skip) + sum(f.state is FileState.SKIPPED for f in analysed),
            failed=tuple(failed),
            unnameable=tuple(plan.unnameable),
            seconds=time.perf_counter() - began,
            parse_seconds=parsed_at - began,
            size_bytes=sum(f.size_bytes for f in analysed),
        )

    # -- Added and deleted files ------------------------------------------------------------------

    def _mark_pending_for_moves(self, known: Known, plan: UpdatePlan) -> TreeIndex:
        """Mark dependents of added and deleted files pending, and drop the deleted ones."""
        name = self._tree.name
        paths = {f.path for f in plan.parse} | {f.path for f in plan.skip}
        placed = [self._placeholder(f) for f in plan.parse if f.path not in known]
        gone = set(plan.gone)
        rest = [file for path, file in known.items() if path not in gone]
        after = TreeIndex([*rest, *placed, *(f for f in plan.skip if f.path not in known)])
        if any(is_configuration(path) for path in (*paths, *plan.gone)):
            self._store.mark_pending(name, lookups=None)
        elif known:
            self._store.mark_pending(name, lookups=changed_keys(TreeIndex(known.values()), after))
        if plan.gone:
            self._store.drop_files(name, plan.gone)
        if plan.skip:
            self._store.mark_pending(name, lookups={lookup_key("names", f.path) for f in plan.skip})
            self._store.put_files(name, [AnalyzedFile(file=f) for f in plan.skip])
        return after

    def _placeholder(self, listed_file: ListedFile) -> SourceFile:
        return SourceFile(
            path=listed_file.path,
            language=language_name(listed_file.path),
            content_hash="",
            size_bytes=listed_file.size_bytes,
            mtime_ns=listed_file.mtime_ns,
        )

    # -- Parsing ----------------------------------------------------------------------------------

    def _parse(self, plan: UpdatePlan, after: TreeIndex) -> list[SourceFile]:
        listed = {f.path: f for f in plan.parse}
        if not listed:
            return []
        done: list[SourceFile] = []
        with self._parser(len(listed)) as parse:
            for batch in _batches(self._with_progress(parse(list(listed)), len(listed)), _BATCH):
                analysed = [self._analysed_file(parsed, listed[parsed.path]) for parsed in batch]
                self._mark_pending_for_names(analysed, after)
                self._store.put_files(self._tree.name, analysed)
                done.extend(item.file for item in analysed)
                self._report(BuildStage.PARSE, len(done), len(listed), analysed[-1].file.module)
        return done

    def _with_progress(self, parsed: Iterable[ParsedFile], total: int) -> Iterator[ParsedFile]:
        """The same files, reporting progress inside a batch."""
        for number, item in enumerate(parsed, 1):
            yield item
            if number % _PROGRESS_EVERY == 0 and number % _BATCH:
                self._report(BuildStage.PARSE, number, total, module_by_folder(item.path))

    @contextmanager
    def _parser(self, file_count: int) -> Generator[Parse, None, None]:
        """The parser: the given one, else worker processes."""
        if self._given_parse is not None:
            yield self._given_parse
            return
        workers = self._workers or worker_count(file_count)
        with WorkerPool(self._tree.root, workers=workers, timeout_s=self._timeout_s) as pool:
            yield pool.parse

    def _analysed_file(self, parsed: ParsedFile, listed_file: ListedFile) -> AnalyzedFile:
        language = language_of(parsed.path)
        file = SourceFile(
            path=parsed.path,
            language=language_name(parsed.path),
            content_hash=versioned_hash(parsed.content_hash),
            size_bytes=listed_file.size_bytes,
            mtime_ns=listed_file.mtime_ns,
            line_count=parsed.line_count,
            state=FileState(parsed.state),
            reason=parsed.reason,
            module=parsed.package or module_by_folder(parsed.path),
            is_test=language is not None and bool(language.facts.test_path.search(parsed.path)),
            analysed_at=self._clock(),
        )
        symbols = tuple(_node(file, row) for row in parsed.symbols)
        return AnalyzedFile(file=file, symbols=symbols, facts=parsed.facts, names=parsed.names)

    def _mark_pending_for_names(self, analysed: Sequence[AnalyzedFile], after: TreeIndex) -> None:
        """Mark files pending that depend on names about to change."""
        before = self._store.names(self._tree.name, [item.file.path for item in analysed])
        keys: set[int] = set()
        for item in analysed:
            path, file = item.file.path, item.file
            old = after.files[path]
            if before.get(path) != item.names or old.module != file.module:
                keys.add(lookup_key("names", path))
                keys.update(
                    lookup_key("package", f.language, f.module) for f in (old, file) if f.module
                )
        if keys:
            self._store.mark_pending(self._tree.name, lookups=keys)

    def _put_containers(self) -> None:
        folders, modules = containers(self._store.files(self._tree.name))
        nodes = [_folder_node(folder) for folder in sorted(folders)]
        names = sorted({name: language for language, name in sorted(modules)}.items())
        nodes += [
            Node(
                id=f"{MODULE_PREFIX}{name}",
                kind=NodeKind.MODULE,
                name=name,
                qualname=name,
                language=language,
            )
            for name, language in names
        ]
        self._store.put_containers(self._tree.name, nodes)

    # -- Linking ----------------------------------------------------------------------------------

    def _link(self, tree_index: TreeIndex) -> int:
        """Build the edges of all pending files. Returns how many."""
        name = self._tree.name
        pending = self._store.pending_files(name)
        if not pending:
            return 0
        context = ResolverContext(
            tree_index,
            load=lambda paths: self._store.names(name, paths),
            language_of=language_of,
            root_name=self._tree.root.resolve().name,
        )
        if len(pending) > _BATCH:
            context.preload([p for p in tree_index.files if not is_configuration(p)])
        edge_builder = EdgeBuilder(context)
        done = 0
        for batch in _batches(pending, _BATCH):
            facts = self._store.facts(name, batch)
            self._store.put_edges(
                name,
                [
                    edge_builder.build(path, uses_from_bytes(facts[path]))
                    for path in batch
                    if path in facts
                ],
            )
            done += len(batch)
            self._report(BuildStage.LINK, done, len(pending), tree_index.files[batch[-1]].module)
        return done

    def _report(self, stage: BuildStage, done: int, total: int, module: str) -> None:
        if self._progress is not None:
            self._progress(BuildProgress(stage=stage, done=done, total=total, module=module))


def _is_moved(file: SourceFile, known: Known) -> bool:
    """Whether a file is new or changed its module."""
    before = known.get(file.path)
    return before is None or before.module != file.module


def _batches(items: Iterable[_Item], size: int) -> Iterator[list[_Item]]:
    iterator = iter(items)
    while batch := list(islice(iterator, size)):
        yield batch


def _folder_node(folder: str) -> Node:
    return Node(
        id=f"{folder}/" if folder else "./",
        kind=NodeKind.DIRECTORY,
        name=folder.rpartition("/")[2] or ".",
        path=folder or ".",
    )


def _node(file: SourceFile, row: Sequence[object]) -> Node:
    qualname, kind, detail, line, end_line, is_exported, is_test, signature = row
    assert isinstance(line, int)
    assert isinstance(end_line, int)
    return Node(
        id=f"{file.path}{SYMBOL_MARK}{qualname}",
        kind=NodeKind(kind),
        name=str(qualname).rpartition(".")[2],
        path=file.path,
        qualname=str(qualname),
        line=line,
        end_line=end_line,
        language=file.language,
        detail=str(detail),
        signature=str(signature),
        is_exported=bool(is_exported),
        is_test=bool(is_test) or file.is_test,
    )
