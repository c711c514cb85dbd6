"""Brings the graph of a tree up to date: what changed is parsed, what that touches is redrawn.

Invariant: after any sequence of updates the graph equals one built from nothing. Work is written
in batches, each complete in itself: before a batch of files is replaced, every file whose edges
may depend on them is opened for drawing, so that stopping anywhere leaves only open files behind
and the next run goes on from there.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TypeVar

from wellkept.codegraph.index.fingerprints import marked
from wellkept.codegraph.index.parse_file import ParsedFile
from wellkept.codegraph.index.source_files import ListedFile, list_files, look
from wellkept.codegraph.index.update_plan import Known, UpdatePlan, is_wanted, planned
from wellkept.codegraph.index.worker_pool import FILE_TIMEOUT_S, WorkerPool, worker_count
from wellkept.codegraph.languages import is_configuration, language_name, language_of
from wellkept.codegraph.parse.file_facts import uses_from_bytes
from wellkept.codegraph.parse.resolver_context import ResolverContext
from wellkept.codegraph.parse.tree_index import (
    TreeIndex,
    changed_keys,
    containers,
    key,
    module_by_folder,
)
from wellkept.codegraph.resolve.edges import EdgeBuilder
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

Tell = Callable[[BuildProgress], None]
Parse = Callable[[Sequence[str]], Iterable[ParsedFile]]
"""Turns paths into what became of each file, exactly once."""
_Item = TypeVar("_Item")

_BATCH = 100
_TELL_EVERY = 10
_COLLECT_EVERY = 100_000


@record(kw_only=True)
class Tree:
    """A source tree: where it is, and the name its graph is kept under."""

    root: Path
    name: str


@contextmanager
def _few_collections() -> Generator[None, None, None]:
    """Look for garbage in circles less often: a build makes many small records and few circles."""
    before = gc.get_threshold()
    if before[0]:  # zero means that the owner of the process wants none at all
        gc.set_threshold(max(before[0], _COLLECT_EVERY), *before[1:])
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
        tell: Tell | None = None,
        workers: int | None = None,
        timeout_s: float = FILE_TIMEOUT_S,
        parse: Parse | None = None,
    ) -> None:
        self._store = store
        self._tree = tree
        self._clock = clock
        self._tell = tell
        self._workers = workers
        self._timeout_s = timeout_s
        self._given_parse = parse

    def build(self, *, again: bool = False) -> BuildReport:
        """Bring the whole tree up to date; `again` parses unchanged files as well."""
        began, known, listed = time.perf_counter(), self._known(), self._listed()
        return self._bring_up(known, listed, self._plan(known, listed, again=again), began)

    def update(self, paths: Iterable[str]) -> BuildReport:
        """Bring only these files up to date, changed, new or gone."""
        began, known = time.perf_counter(), self._known()
        wanted = [path for path in dict.fromkeys(paths) if is_wanted(path)]
        found = [f for path in wanted if (f := look(self._tree.root, path)) is not None]
        about = {path: known[path] for path in wanted if path in known}
        return self._bring_up(known, found, self._plan(about, found), began)

    def mark_changed(self) -> list[str]:
        """Mark files that changed on disk as stale, parsing nothing; returns their paths."""
        return self.catch_up(most=0)

    def catch_up(self, *, most: int) -> list[str]:
        """Read what changed on disk, unless that is more than so many files: then they are only
        marked as stale. Returns the paths of those that were not read."""
        began, known, listed = time.perf_counter(), self._known(), self._listed()
        # A file that failed is left to the next build: a parser that hangs would keep a question
        # waiting each time.
        plan = self._plan(known, listed).without_old_failures(known)
        changed = sorted([f.path for f in plan.parse] + plan.gone)
        if changed and len(changed) <= most:
            self._bring_up(known, listed, plan, began)
            return []
        fresh = [path for path in changed if path in known and known[path].stale_at is None]
        if fresh:
            self._store.mark_stale(self._tree.name, fresh, at=self._clock())
        if plan.settled:  # so that they need not be read at the next question
            self._store.touch_files(self._tree.name, plan.settled)
        return changed

    def _known(self) -> dict[str, SourceFile]:
        return {file.path: file for file in self._store.files(self._tree.name)}

    def _listed(self) -> list[ListedFile]:
        return [file for file in list_files(self._tree.root) if is_wanted(file.path)]

    def _plan(self, known: Known, listed: list[ListedFile], *, again: bool = False) -> UpdatePlan:
        """What is to be done, where every known file that is not listed is gone."""
        gone = sorted(known.keys() - {file.path for file in listed})
        return planned(self._tree.root, known, listed, gone, now=self._clock(), again=again)

    @_few_collections()
    def _bring_up(
        self, known: Known, listed: Sequence[ListedFile], plan: UpdatePlan, began: float
    ) -> BuildReport:
        after = self._mark_pending_for_moves(known, plan)
        analysed = self._parse(plan, after)
        if plan.same:
            self._store.touch_files(self._tree.name, plan.same)
        parsed_at = time.perf_counter()
        if plan.gone or plan.skip or any(_moved(file, known) for file in analysed):
            self._put_containers()
        fresh = {file.path: file for file in (*plan.skip, *analysed)}
        relinked = self._draw(TreeIndex((after.files | fresh).values()))
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

    # -- What comes and goes ----------------------------------------------------------------------

    def _mark_pending_for_moves(self, known: Known, plan: UpdatePlan) -> TreeIndex:
        """Open what depends on files that come or go, and take out those that go."""
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
            self._store.mark_pending(name, lookups={key("names", f.path) for f in plan.skip})
            self._store.put_files(name, [AnalyzedFile(file=f) for f in plan.skip])
        return after

    def _placeholder(self, found: ListedFile) -> SourceFile:
        return SourceFile(
            path=found.path,
            language=language_name(found.path),
            content_hash="",
            size_bytes=found.size_bytes,
            mtime_ns=found.mtime_ns,
        )

    # -- Parsing ----------------------------------------------------------------------------------

    def _parse(self, plan: UpdatePlan, after: TreeIndex) -> list[SourceFile]:
        listed = {f.path: f for f in plan.parse}
        if not listed:
            return []
        done: list[SourceFile] = []
        with self._parser(len(listed)) as parse:
            for batch in _batches(self._told(parse(list(listed)), len(listed)), _BATCH):
                kept = [self._analysed(parsed, listed[parsed.path]) for parsed in batch]
                self._mark_pending_for_names(kept, after)
                self._store.put_files(self._tree.name, kept)
                done.extend(item.file for item in kept)
                self._say(BuildStage.PARSE, len(done), len(listed), kept[-1].file.module)
        return done

    def _told(self, parsed: Iterable[ParsedFile], total: int) -> Iterator[ParsedFile]:
        """The same files, with a word now and then while a batch is gathered."""
        for number, item in enumerate(parsed, 1):
            yield item
            if number % _TELL_EVERY == 0 and number % _BATCH:
                self._say(BuildStage.PARSE, number, total, module_by_folder(item.path))

    @contextmanager
    def _parser(self, file_count: int) -> Generator[Parse, None, None]:
        """What parses files: the one that was given, else processes of its own."""
        if self._given_parse is not None:
            yield self._given_parse
            return
        workers = self._workers or worker_count(file_count)
        with WorkerPool(self._tree.root, workers=workers, timeout_s=self._timeout_s) as pool:
            yield pool.parse

    def _analysed(self, parsed: ParsedFile, found: ListedFile) -> AnalyzedFile:
        language = language_of(parsed.path)
        file = SourceFile(
            path=parsed.path,
            language=language_name(parsed.path),
            content_hash=marked(parsed.content_hash),
            size_bytes=found.size_bytes,
            mtime_ns=found.mtime_ns,
            line_count=parsed.line_count,
            state=FileState(parsed.state),
            reason=parsed.reason,
            module=parsed.package or module_by_folder(parsed.path),
            is_test=language is not None and bool(language.test_path.search(parsed.path)),
            analysed_at=self._clock(),
        )
        symbols = tuple(_node(file, row) for row in parsed.symbols)
        return AnalyzedFile(file=file, symbols=symbols, facts=parsed.facts, names=parsed.names)

    def _mark_pending_for_names(self, kept: Sequence[AnalyzedFile], after: TreeIndex) -> None:
        """Open what depends on names that are about to change."""
        before = self._store.names(self._tree.name, [item.file.path for item in kept])
        keys: set[int] = set()
        for item in kept:
            path, file = item.file.path, item.file
            old = after.files[path]
            if before.get(path) != item.names or old.module != file.module:
                keys.add(key("names", path))
                keys.update(key("package", f.language, f.module) for f in (old, file) if f.module)
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

    # -- Drawing ----------------------------------------------------------------------------------

    def _draw(self, layout: TreeIndex) -> int:
        """Draw the edges of every open file, in the tree as it is now."""
        name = self._tree.name
        waiting = self._store.pending_files(name)
        if not waiting:
            return 0
        outlook = ResolverContext(
            layout,
            load=lambda paths: self._store.names(name, paths),
            language_of=language_of,
            root_name=self._tree.root.resolve().name,
        )
        if len(waiting) > _BATCH:
            outlook.preload([p for p in layout.files if not is_configuration(p)])
        drawer = EdgeBuilder(outlook)
        done = 0
        for batch in _batches(waiting, _BATCH):
            facts = self._store.facts(name, batch)
            self._store.put_edges(
                name,
                [
                    drawer.draw(path, uses_from_bytes(facts[path]))
                    for path in batch
                    if path in facts
                ],
            )
            done += len(batch)
            self._say(BuildStage.LINK, done, len(waiting), layout.files[batch[-1]].module)
        return done

    def _say(self, stage: BuildStage, done: int, total: int, module: str) -> None:
        if self._tell is not None:
            self._tell(BuildProgress(stage=stage, done=done, total=total, module=module))


def _moved(file: SourceFile, known: Known) -> bool:
    """Whether a file is new or went to another module."""
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
