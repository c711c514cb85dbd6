"""Marks memories as stale: files moved or deleted, recipes that failed, code or commands that are
gone.

`refresh_project` is the whole pass. It follows renames first: only files that are gone count.
Invariant: refreshing twice equals refreshing once.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from wellkept.core.errors import WellkeptError
from wellkept.core.payloads import WorkflowRecipe
from wellkept.memory.file_presence import Exists
from wellkept.memory.lifecycle.report import MaintenanceAction, MaintenanceReport, merge_reports
from wellkept.memory.lifecycle.staleness import StaleReason, recipe_held_at, refresh
from wellkept.observe.upkeep.renames import changed_since, follow_history

if TYPE_CHECKING:
    from wellkept.core.memory import Memory
    from wellkept.core.types import Progress
    from wellkept.graph.api import GraphApi
    from wellkept.memory.workspace import Workspace


def refresh_project(
    services: Workspace,
    *,
    exists: Exists | None = None,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> MaintenanceReport:
    """Follow renames, then mark what is stale and clear the mark where it is not any more."""
    root = services.root
    moved = follow_history(services.engine, project=services.project, root=root, dry_run=dry_run)
    with stale_reasons(services) as also_stale:
        marked = refresh(
            services.engine,
            project=services.project,
            root=root,
            exists=exists,
            also_stale=also_stale,
            dry_run=dry_run,
            progress=progress,
        )
    if moved is None:
        return marked
    # A preview has not moved anything, so what would move still looks gone.
    moving = {item.id for item in moved.items} if dry_run else set[str]()
    kept = tuple(item for item in marked.items if item.id not in moving or item.after != "stale")
    seen = MaintenanceReport(
        action=MaintenanceAction.REFRESH,
        dry_run=dry_run,
        examined=marked.examined,
        items=kept,
        notes=marked.notes,
    )
    return merge_reports(MaintenanceAction.REFRESH, (moved, seen), dry_run=dry_run)


@contextmanager
def stale_reasons(services: Workspace) -> Generator[StaleReason]:
    """A function that says why a memory is stale although its files exist."""
    graph = _built_graph(services)
    recipe = _recipe_reason(services)
    node = _node_reason(graph, services.root) if graph is not None else _no_reason
    command = _command_reason(services.root)
    try:
        yield lambda memory: recipe(memory) or node(memory) or command(memory)
    finally:
        if graph is not None:
            graph.close()


def _no_reason(_: Memory) -> str | None:
    return None


def _recipe_reason(services: Workspace) -> StaleReason:
    """A recipe is stale when it failed, one of its files changed, or it was not used for long."""
    from wellkept.observe.learning.recipes import stale_reason

    changed, now = changed_since(services.root), services.clock()

    def reason(memory: Memory) -> str | None:
        if not isinstance(memory.payload, WorkflowRecipe):
            return None
        held_at = recipe_held_at(memory)
        files = {step.canonical_file for step in memory.payload.steps if step.canonical_file}
        return stale_reason(
            memory.payload,
            now=now,
            last_used=max(held_at, memory.accessed_at),
            changed={path for path in files if changed(path, held_at)},
        )

    return reason


def _command_reason(root: Path) -> StaleReason:
    """A rule about a command is stale when the project does not define the command any more."""
    from wellkept.project.rule_targets import has_command
    from wellkept.text.memory_commands.rules import tagged_commands

    def reason(memory: Memory) -> str | None:
        gone = [name for name in tagged_commands(memory.tags) if not has_command(root, name)]
        return f"the project has no `{gone[0]}` any more" if gone else None

    return reason


# -- The code graph -------------------------------------------------------------------------------


def _built_graph(services: Workspace) -> GraphApi | None:
    """The code graph, if there is one for this folder; refresh never builds it."""
    from wellkept.graph.api import GraphApi

    graph = GraphApi(services)
    if services.read_only or not graph.path.is_file():
        return None
    if graph.store.version(graph.tree):
        return graph
    graph.close()
    return None


def _node_reason(graph: GraphApi, root: Path) -> StaleReason:
    """A memory about a symbol is stale when its file no longer has the symbol."""
    refreshed: set[str] = set()

    def reason(memory: Memory) -> str | None:
        name = (memory.graph_node or "").strip()
        path, _, symbol = name.partition("::")
        if not symbol:
            # A name with a colon is a user's note, not a path.
            gone = bool(name) and ":" not in name and not (root / name).exists()
        else:
            if path not in refreshed:
                refreshed.add(path)
                _refresh(graph, path)
            # A file without readable symbols proves nothing.
            read = graph.store.symbols(graph.tree, [path])
            gone = bool(read) and not graph.store.find(graph.tree, name, limit=1)
        return f"the code has no {name} any more" if gone else None

    return reason


def _refresh(graph: GraphApi, path: str) -> None:
    """Read a changed file again; without grammars the last known state is used."""
    try:
        graph.update([path])
    except WellkeptError:
        return
