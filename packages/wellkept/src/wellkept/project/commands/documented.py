"""Commands that a project's pages for contributors show in code blocks, as they stand.

Only lines whose program tells what they are for. In a read-me only sections about working on the
project count: how users install it is no command of the project.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from wellkept.memory.exchange.markdown_document import Section
from wellkept.project.commands.command import (
    AMBIGUOUS_NAMES,
    ProjectCommand,
    Purpose,
    names_a_purpose,
    one_line,
    purpose_of_name,
    purpose_of_words,
)
from wellkept.project.repository.project_files import ProjectFiles
from wellkept.project.repository.sections import document_sections

_PAGES = (
    r"(?:\.github/|docs/)?(?:readme|contributing|developing|development|hacking|building|testing)"
    r"(?:\.(?:md|markdown|rst|adoc|txt))?"
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
            title = section.titles[-1] if section.titles else ""
            about_work = bool(_ABOUT_WORK.search(title)) and not _OF_USERS.search(title)
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
                yield ProjectCommand(purpose=purpose, command=command, source=path)


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
