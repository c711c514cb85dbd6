"""Reads a whole project: every reader's statements, and the links between files.

Only reads. Invariant: the same files and commits give the same statements, each under its own key.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from wellkept.core.query import FileLink
from wellkept.core.records import record
from wellkept.graph.history.git_log import Commit
from wellkept.project.commands.collect import (
    ProjectCommands,
    command_statements,
    read_commands,
)
from wellkept.project.repository.conventions import convention_statements, rules_statement
from wellkept.project.repository.documents import document_statements, is_document
from wellkept.project.repository.module_facts import (
    Places,
    file_statements,
    layout_statement,
    module_statements,
    open_ends,
)
from wellkept.project.repository.ownership import file_pasts, history_statements, people_statements
from wellkept.project.repository.project_facts import about_statements
from wellkept.project.repository.project_files import ProjectFiles, Statement

STAGES = ("commands", "documents", "conventions", "places", "history")
OnStage = Callable[[str], None]


@record(kw_only=True)
class ProjectKnowledge:
    """What a repository says about itself."""

    statements: tuple[Statement, ...]
    commands: ProjectCommands
    documents: int


def read_project(
    root: Path,
    names: Sequence[str],
    *,
    commits: Sequence[Commit],
    links: Sequence[FileLink],
    generated: frozenset[str] = frozenset(),
    on_stage: OnStage | None = None,
) -> ProjectKnowledge:
    """All statements about a project, each key once."""
    files = ProjectFiles(root, names)
    places = Places(files)
    commands = read_commands(files)

    def every() -> Iterator[Statement]:
        yield from command_statements(commands)
        _say(on_stage, "documents")
        yield from about_statements(places)
        yield from document_statements(files, generated=generated)
        _say(on_stage, "conventions")
        conventions = list(convention_statements(places))
        yield from conventions
        yield from rules_statement(files, conventions)
        _say(on_stage, "places")
        pasts = file_pasts(commits)
        modules = list(module_statements(places, pasts))
        yield from modules
        yield from layout_statement(files, modules)
        yield from file_statements(places, pasts, links)
        yield from open_ends(places)
        _say(on_stage, "history")
        yield from people_statements(files, commits, pasts)
        yield from history_statements(commits)

    _say(on_stage, "commands")
    found: dict[str, Statement] = {}
    for statement in every():
        found.setdefault(statement.key, statement)
    return ProjectKnowledge(
        statements=tuple(found.values()),
        commands=commands,
        documents=sum(is_document(name) and name not in generated for name in files.names),
    )


def _say(on_stage: OnStage | None, stage: str) -> None:
    if on_stage is not None:
        on_stage(stage)
