"""All commands of a project as statements, one for each purpose, with the alternatives.

Pages for contributors are read here: only lines of code blocks whose program tells what they are
for. In a read-me only sections about working on the project count.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from wellkept.core.records import record, replace
from wellkept.core.text import shorten
from wellkept.memory.exchange.markdown_document import Section
from wellkept.project.commands.ci import Workflow, ci_commands, task_commands, workflows
from wellkept.project.commands.command import (
    AMBIGUOUS_NAMES,
    SAID,
    ProjectCommand,
    Purpose,
    names_a_purpose,
    one_line,
    purpose_of_name,
    purpose_of_words,
)
from wellkept.project.commands.compiled_tools import compiled_commands, container_commands
from wellkept.project.commands.one_test import one_test_commands
from wellkept.project.commands.python_tools import python_commands
from wellkept.project.commands.scripting_tools import javascript_commands, scripting_commands
from wellkept.project.repository.project_files import ProjectFiles, Statement
from wellkept.project.repository.sections import document_sections

_PAGES = (
    r"(?:\.github/|docs?/(?:[\w-]+/)?)?"
    r"(?:readme|contributing|developing|development|hacking|building|testing)(?:\.(?:md|markdown|rst|adoc|txt))?"
)
_FENCED = re.compile(
    r"^(?P<mark>`{3,}|~{3,}|-{4,}$)[ \t]*(?P<kind>[\w-]*)[^\n]*\n(?P<body>.*?)^[ \t]*(?P=mark)",
    re.MULTILINE | re.DOTALL,
)
_SHELL = frozenset(
    ("", "sh", "bash", "shell", "console", "zsh", "text", "terminal", "shell-session")
)
_ABOUT_WORK = re.compile(
    r"develop|contribut|test|build|compil|hack|lint|source|maintain|local|set ?up", re.IGNORECASE
)
_OF_USERS = re.compile(r"\busage\b|\bexamples?\b|\binstall|quick ?start|getting started", re.I)
_PROMPT = re.compile(r"^\s*(?:[$>%❯]|\w+@\S+[$#])\s+")
_NOT_TYPED = re.compile(
    r"[<>$`]|\.\.\.|…|\[[a-z]+\]|\bpath/to\b|\bFILE\b|\bNAME\b|\byour[-_ ]", re.I
)
_ONE_FILE = re.compile(r"(?<![\w=-])(?P<path>[\w./-]+/[\w.-]+\.\w{1,5})(?::\d+|::\S+)?(?=\s|$)")
_CHOOSES = re.compile(r"\s(?:-k|-t|-g|-n|--filter|--tests?|-run|--only|-Dtest)(?:=|\s)|::|\.py:\d")


def documented_commands(files: ProjectFiles) -> Iterator[ProjectCommand]:
    """Commands of the pages for contributors; those of a read-me last."""
    pages = files.matching(_PAGES)
    for path in sorted(pages, key=lambda one: "readme" in one.lower()):
        is_readme = "readme" in path.lower()
        for section in document_sections(path, files.text(path)):
            title, path_to = " ".join(section.titles[-1:]), " ".join(section.titles[-2:])
            about_work = bool(_ABOUT_WORK.search(path_to)) and not _OF_USERS.search(title)
            if about_work or not is_readme:
                yield from _of_section(files, path, section, may_set_up=about_work)


def _of_section(
    files: ProjectFiles, path: str, section: Section, *, may_set_up: bool
) -> Iterator[ProjectCommand]:
    for block in _FENCED.finditer(section.body):
        if block["kind"].lower() not in _SHELL:
            continue
        for command in _lines(block["body"]):
            purpose = purpose_of_words(command) or _purpose_of_script(files, command)
            if purpose is None or _NOT_TYPED.search(command):
                continue
            named = _ONE_FILE.search(command)
            if purpose is Purpose.TEST and (named or _CHOOSES.search(command)):
                if not named or not files.has(named["path"]):
                    continue
                purpose = Purpose.TEST_ONE
            if purpose is not Purpose.SETUP or may_set_up:
                yield ProjectCommand(purpose, command, path)


def _purpose_of_script(files: ProjectFiles, command: str) -> Purpose | None:
    """What a script of the repository is for by its name, where a page shows how it is called."""
    path = command.split(" ", 1)[0].removeprefix("./")
    name = path.rpartition("/")[2].partition(".")[0]
    is_own = files.has(path) and names_a_purpose(name) and name not in AMBIGUOUS_NAMES
    return purpose_of_name(name) if is_own else None


def _lines(block: str) -> Iterator[str]:
    """The command lines of a block that are typed in the root, so none after a change of folder.
    CMake only configures unless the next line builds."""
    configure = ""
    for line in block.replace("\\\n", " ").splitlines():
        command = one_line(_PROMPT.sub("", line).partition("  #")[0].partition(" # ")[0])
        if command.startswith("cd ") or " .." in command:
            return
        if command.startswith("cmake ") and "--build" not in command:
            configure = command
        elif command:
            joins = configure and command.startswith("cmake ")
            yield f"{configure} && {command}" if joins else command
            configure = ""


_MAX_OTHERS = 4
_BUILD_FILES = (
    r"pyproject\.toml|setup\.py|package\.json|Cargo\.toml|go\.mod|pom\.xml|(?:build|settings)\.gradle"
    r"(?:\.kts)?|Gemfile|composer\.json|mix\.exs|CMakeLists\.txt|Makefile|justfile|meson\.build"
)
_MAX_RUNS_CHARS = 160
_NOT_THE_PROJECT = frozenset(
    ("examples", "example", "docs", "doc", "website", "site", "samples", "demo", "bench", ".github")
)
_IMPORTANCE = {Purpose.TEST: 0.8, Purpose.TEST_ONE: 0.8, Purpose.RELEASE: 0.75}


@record(kw_only=True)
class ProjectCommands:
    """The commands of a project: the best first for each purpose; and its CI workflows."""

    by_purpose: dict[Purpose, list[ProjectCommand]]
    workflows: tuple[Workflow, ...]

    def best(self) -> Iterator[ProjectCommand]:
        """The first command for each purpose."""
        for purpose in Purpose:
            if found := self.by_purpose.get(purpose):
                yield found[0]


def read_commands(files: ProjectFiles) -> ProjectCommands:
    """Every command that the project's files declare."""
    found_workflows = workflows(files)
    every = [*_of_files(files), *_below(files), *ci_commands(found_workflows)]
    grouped: dict[Purpose, list[ProjectCommand]] = {}
    for one in sorted(every, key=lambda command: command.rank):
        known = grouped.setdefault(one.purpose, [])
        if all(one.command != other.command for other in known):
            known.append(one)
    return ProjectCommands(by_purpose=grouped, workflows=tuple(found_workflows))


def _of_files(files: ProjectFiles) -> list[ProjectCommand]:
    """What task runners, pages, build files and container files of a folder say."""
    every = [
        *task_commands(files),
        *documented_commands(files),
        *python_commands(files),
        *javascript_commands(files),
        *compiled_commands(files),
        *scripting_commands(files),
        *container_commands(files),
    ]
    return every + list(
        one_test_commands(files, [one for one in every if one.purpose is Purpose.TEST])
    )


def _below(files: ProjectFiles) -> Iterator[ProjectCommand]:
    """The commands of the one folder that is built, where the root has nothing to build."""
    built = files.matching(rf"(?:[\w.-]+/)?(?:{_BUILD_FILES})")
    folders = {name.rpartition("/")[0] for name in built} - _NOT_THE_PROJECT
    if len(folders) != 1 or "" in folders:
        return
    (folder,) = folders
    inner = [
        name.removeprefix(f"{folder}/") for name in files.names if name.startswith(f"{folder}/")
    ]
    for one in _of_files(ProjectFiles(files.root / folder, inner)):
        source = f"{folder}/{one.source}"
        yield replace(one, command=f"cd {folder} && {one.command}", source=source)


def command_statements(commands: ProjectCommands) -> Iterator[Statement]:
    """One statement for each purpose, and one for each workflow."""
    releases = [one for one in commands.workflows if one.is_release]
    releases = ([one for one in releases if one.publishes] or releases)[:2]
    for purpose in Purpose:
        found = commands.by_purpose.get(purpose, [])
        if found:
            yield _statement(purpose, found, releases if purpose is Purpose.RELEASE else ())
        elif purpose is Purpose.RELEASE and releases:
            yield Statement(
                key="command:release",
                text="How to release: a new version is published by CI. "
                + " ".join(one.text for one in releases),
                read_from=releases[0].path,
                importance=_IMPORTANCE[purpose],
                tags=("command", "release"),
                files=tuple(one.path for one in releases),
            )
    for workflow in commands.workflows:
        if workflow in releases or not workflow.told():
            continue
        yield Statement(
            key=f"ci:{workflow.path}",
            text=workflow.text,
            read_from=workflow.path,
            importance=0.45,
            tags=("ci",),
            files=(workflow.path,),
        )


def _statement(
    purpose: Purpose, found: Sequence[ProjectCommand], releases: Sequence[Workflow]
) -> Statement:
    best, others = found[0], found[1:]
    text = f"{SAID[purpose]} {_told(best)}."
    if best.note:
        text += f" {best.note[0].upper()}{best.note[1:]}."
    # A usual default says nothing beside what the project names itself.
    worth = [one for one in others if one.rank < 3 or best.rank >= 3][:_MAX_OTHERS]
    if worth:
        text += " Also: " + "; ".join(_told(one) for one in worth) + "."
    if releases:
        text += " " + " ".join(one.text for one in releases)
    sources = dict.fromkeys((best.source, *(one.source for one in worth)))
    return Statement(
        key=f"command:{purpose.value.replace(' ', '-')}",
        text=text,
        read_from=best.source,
        importance=_IMPORTANCE.get(purpose, 0.7),
        confidence=0.85 if best.rank < 3 else 0.7,
        tags=("command", purpose.value),
        files=tuple(sources),
    )


def _told(one: ProjectCommand) -> str:
    runs = f", which runs `{shorten(one.runs, limit=_MAX_RUNS_CHARS)}`" if one.runs else ""
    where = "" if one.source == one.command else f" ({one.source}{runs})"
    return f"`{one.command}`{where or (f' ({runs[2:]})' if runs else '')}"
