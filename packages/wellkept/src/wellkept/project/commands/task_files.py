"""Tasks that a project names: Makefile, justfile, Taskfile, and scripts in `scripts/` or `bin/`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from wellkept.project.commands.command import (
    AMBIGUOUS_NAMES,
    ProjectCommand,
    Purpose,
    names_a_purpose,
    one_line,
    purpose_of_name,
    purpose_of_words,
    rank_of_name,
)
from wellkept.project.repository.project_files import ProjectFiles, at, listed, string, table

_MAKE_TARGET = re.compile(r"^(?P<name>[A-Za-z][\w.-]*)\s*:(?![:=])(?P<needs>[^=\n]*)$", re.M)
_JUST_RECIPE = re.compile(
    r"^@?(?P<name>[A-Za-z][\w-]*)(?P<arguments>(?:\s+[+*$]?[\w-]+(?:\s*=\s*(?:\"[^\"\n]*\""
    r"|'[^'\n]*'|[\w./-]+))?)*)\s*:(?!=)(?P<needs>[^\n]*)$",
    re.MULTILINE,
)
_VARIABLE = re.compile(r"\$[({](?P<name>\w+)[)}]")
_ASSIGNED = re.compile(r"^(?:export\s+)?(?P<name>\w+)\s*[:?]?=\s*(?P<value>[^\n#]*)$", re.M)
_SCRIPT = re.compile(r"(?:scripts?|bin|dev)/(?P<name>[\w-]+)(?:\.(?:sh|py|rb|js))?")
_QUIET = re.compile(r"^[@\-+]+\s*")
_MAX_STEPS = 4
_WHOLE = frozenset({"cibuild", "ci", "check", "install", "bootstrap", "package"})


def task_commands(files: ProjectFiles) -> Iterator[ProjectCommand]:
    """Commands of every task file in the root."""
    yield from _make(files)
    yield from _just(files)
    yield from _taskfile(files)
    yield from _scripts(files)


def _make(files: ProjectFiles) -> Iterator[ProjectCommand]:
    name = files.first("GNUmakefile", "Makefile", "makefile")
    if name is None:
        return
    text = files.text(name)
    values = {found["name"]: found["value"].strip() for found in _ASSIGNED.finditer(text)}
    for found in _MAKE_TARGET.finditer(text):
        steps = [_expanded(step, values) for step in _recipe(text, found.end(), tab=True)]
        yield from _task(f"make {found['name']}", found["name"], name, steps, found["needs"])


def _just(files: ProjectFiles) -> Iterator[ProjectCommand]:
    name = files.first("justfile", "Justfile", ".justfile")
    if name is None:
        return
    text = files.text(name)
    for found in _JUST_RECIPE.finditer(text):
        steps = [re.sub(r"\s*\{\{.*?\}\}", "", s) for s in _recipe(text, found.end(), tab=False)]
        yield from _task(f"just {found['name']}", found["name"], name, steps, found["needs"])


def _taskfile(files: ProjectFiles) -> Iterator[ProjectCommand]:
    name = files.first("Taskfile.yml", "Taskfile.yaml", "taskfile.yml", "taskfile.yaml")
    if name is None:
        return
    for task, body in table(files.yaml(name), "tasks").items():
        given = listed(body, "cmds") or [at(body, "cmd") or body]
        steps = [one if isinstance(one, str) else string(one, "cmd") for one in given]
        yield from _task(f"task {task}", str(task), name, [step for step in steps if step], "")


def _scripts(files: ProjectFiles) -> Iterator[ProjectCommand]:
    """Executable scripts that are called like a purpose: `scripts/test`."""
    for path in files.matching(_SCRIPT.pattern, limit=100):
        found = _SCRIPT.fullmatch(path)
        purpose = purpose_of_name(found["name"]) if found else None
        if found is None or purpose is None or purpose is Purpose.RUN:
            continue
        runs = ""
        if files.text(path).startswith("#!") and "sh" in files.text(path).split("\n", 1)[0]:
            known = {
                line: one
                for line in map(_bare, files.text(path).splitlines())
                if (one := purpose_of_words(line))
            }
            if found["name"] in AMBIGUOUS_NAMES and known and purpose not in known.values():
                # `check` may test, lint or both: what it runs decides.
                by_use = Counter(known.values())
                purpose = Purpose.LINT if Purpose.LINT in by_use else by_use.most_common(1)[0][0]
            runs = next((line for line, one in known.items() if one is purpose), "")
        elif not path.endswith((".sh", ".py", ".rb", ".js")):
            continue
        # A variant (`test-complete`) says less than a usual default.
        rank = 0 if rank_of_name(found["name"]) == 0 or found["name"] in _WHOLE else 3
        yield ProjectCommand(purpose=purpose, command=path, source=path, rank=rank, runs=runs)


def _bare(line: str) -> str:
    """A line of a script as one would type it: without the variables that the script fills in."""
    return " ".join(re.sub(r"[\"']?\$\{?[\w@*]+\}?[\"']?", "", line).split())


def _task(
    command: str, name: str, source: str, steps: list[str], needs: str
) -> Iterator[ProjectCommand]:
    by_name = purpose_of_name(name)
    runs = one_line("\n".join(steps[:_MAX_STEPS])) if steps else " ".join(needs.split())
    by_words = next((p for step in steps if (p := purpose_of_words(step))), None)
    purpose = by_name or by_words
    if purpose is None or (not steps and not needs.strip()):
        return
    # A task named like a check may run other tasks only; what it runs decides in doubt.
    if name in AMBIGUOUS_NAMES - {"install"} and by_words is not None:
        purpose = by_words
    rank = rank_of_name(name)
    if not names_a_purpose(name):
        # `check-fonts` checks a part, and one step among several is not what the task is for.
        if len(steps) != 1:
            return
        rank = 3
    if name == "install":
        # It installs the program, unless it installs what the program needs.
        if by_words is not Purpose.SETUP:
            return
        rank = 0
    yield ProjectCommand(purpose=purpose, command=command, source=source, rank=rank, runs=runs)


def _recipe(text: str, start: int, *, tab: bool) -> list[str]:
    """The indented lines after a header."""
    steps: list[str] = []
    for line in text[start:].split("\n")[1:]:
        if not line.strip():
            if tab and steps:
                break
            continue
        if not (line.startswith("\t") if tab else line[0] in " \t"):
            break
        step = _QUIET.sub("", line.strip())
        is_told = not step.startswith(("#", "echo ", "$(info", "$(eval", "$(call", "printf "))
        if step and is_told and not (steps and steps[-1].endswith("\\")):
            steps.append(step)
        elif steps and steps[-1].endswith("\\"):
            steps[-1] = f"{steps[-1][:-1].rstrip()} {step}"
    return steps


def _expanded(step: str, values: dict[str, str]) -> str:
    """Variables that the file sets are filled in; others, which a caller may set, are left out."""
    for _ in range(3):
        step = _VARIABLE.sub(lambda found: values.get(found["name"], ""), step)
    return " ".join(step.split())
