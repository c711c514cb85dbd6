"""CI workflows of GitHub and GitLab: what they run, when, and on which versions."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from wellkept.core.records import record
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
from wellkept.project.repository.project_files import ProjectFiles, at, listed, string, table, texts

MAX_WORKFLOWS = 20
MAX_TOLD = 6
_GITHUB = r"\.github/workflows/[\w .-]+\.ya?ml"
_GITLAB = r"\.gitlab-ci\.ya?ml"
_RELEASES = re.compile(r"releas|publish|deploy|\bcd\b|ship", re.IGNORECASE)
_SITE = re.compile(r"\bdocs?\b|documentation|website|\bpages\b|\bsite\b", re.IGNORECASE)
_PUBLISHES = re.compile(
    r"pypi-publish|action-gh-release|release-action|create-release|semantic-release|changesets/action"
    r"|goreleaser|release-please|npm-publish|cargo-release|release-gem|trusted-publish"
    r"|upload-release|attest-build",
    re.IGNORECASE,
)
_NO_WORK = re.compile(r"^(?:echo|cd|ls|cat|set|export|git|sudo|curl|if|fi|for|done|mkdir|rm|cp)\b")
_NOT_TYPED = re.compile(r"\$|`|%\w+%|<<|::")
"""Parts of a step that only its runner can fill in."""
_TOLD_OF_CI = (
    Purpose.TEST,
    Purpose.LINT,
    Purpose.FORMAT,
    Purpose.TYPES,
    Purpose.BUILD,
    Purpose.DOCS,
)
_GITLAB_WORDS = frozenset(
    "stages variables image services before_script after_script default workflow include cache"
    " pages".split()
)


@record(kw_only=True)
class Workflow:
    """One workflow: its name, what starts it, its jobs, commands and matrix."""

    path: str
    name: str
    triggers: tuple[str, ...]
    jobs: tuple[str, ...]
    commands: tuple[str, ...]
    actions: tuple[str, ...] = ()
    versions: tuple[str, ...] = ()

    @property
    def is_release(self) -> bool:
        """Whether it publishes a version."""
        named = bool(_RELEASES.search(f"{self.path} {self.name}"))
        is_site = _SITE.search(f"{self.path} {self.name}") is not None
        return not is_site and (named or self.publishes)

    @property
    def publishes(self) -> bool:
        """Whether it is started by a tag or a release, or uses an action that publishes."""
        starts = any(one.startswith(("a published release", "a tag")) for one in self.triggers)
        return starts or any(_PUBLISHES.search(one) for one in self.actions)

    def told(self) -> list[str]:
        """The commands that have a purpose; installing only where there is nothing else."""
        known = {one: purpose_of_words(one) for one in self.commands}
        named = [one for one, purpose in known.items() if purpose is not None]
        return [one for one in named if known[one] is not Purpose.SETUP] or named

    @property
    def text(self) -> str:
        """The workflow in one or two sentences."""
        said = f"CI workflow {self.name} ({self.path})"
        if self.triggers:
            said += f" starts at {', '.join(self.triggers[:4])}"
        if self.jobs:
            said += f"; jobs: {', '.join(self.jobs[:8])}"
        if told := self.told():
            said += "; it runs " + ", ".join(f"`{one}`" for one in told[:MAX_TOLD])
        if self.actions:
            said += f"; it uses {', '.join(self.actions[:3])}"
        if self.versions:
            said += f"; on {', '.join(self.versions[:3])}"
        return said + "."


def workflows(files: ProjectFiles) -> list[Workflow]:
    """The workflows of a project, by path."""
    found = [_github(files, path) for path in files.matching(_GITHUB, limit=MAX_WORKFLOWS)]
    found += [_gitlab(files, path) for path in files.matching(_GITLAB)]
    return [one for one in found if one is not None]


def ci_commands(found: Sequence[Workflow]) -> Iterator[ProjectCommand]:
    """The steps of workflows that can be typed as they stand; they come after everything that a
    project says itself. What CI installs or publishes is its own."""
    for workflow in found:
        for command in workflow.commands:
            purpose = purpose_of_words(command)
            if purpose is not None and purpose in _TOLD_OF_CI and "&&" not in command:
                yield ProjectCommand(purpose, command, workflow.path, rank=5)


def _github(files: ProjectFiles, path: str) -> Workflow | None:
    document = files.yaml(path)
    jobs = table(document, "jobs")
    if not jobs:
        return None
    commands: dict[str, None] = {}
    actions: dict[str, None] = {}
    versions: dict[str, None] = {}
    for job in jobs.values():
        for step in listed(job, "steps"):
            if at(step, "working-directory") is None:
                commands |= dict.fromkeys(_lines(at(step, "run")))
            used = string(step, "uses")
            if used and _PUBLISHES.search(used):
                actions[used] = None
        for called in filter(None, [string(job, "uses")]):
            actions[called] = None
        for name, values in table(job, "strategy", "matrix").items():
            told = (
                [str(one) for one in cast("list[object]", values)]
                if isinstance(values, list)
                else []
            )
            if told and name not in ("include", "exclude") and not any("{" in one for one in told):
                versions[f"{name} {' '.join(told[:8])}"] = None
    # YAML 1.1 reads the word `on` as true.
    starts = at(document, "on") or cast("Mapping[object, object]", document).get(True)
    return Workflow(
        path=path,
        name=f"“{string(document, 'name')}”"
        if string(document, "name")
        else path.rsplit("/", 1)[-1],
        triggers=tuple(_triggers(starts)),
        jobs=tuple(str(name) for name in jobs),
        commands=tuple(commands),
        actions=tuple(actions),
        versions=tuple(versions),
    )


def _triggers(starts: object) -> Iterator[str]:
    names: dict[str, object] = {}
    if isinstance(starts, str):
        names = {starts: None}
    elif isinstance(starts, list):
        names = {str(one): None for one in cast("list[object]", starts)}
    elif isinstance(starts, Mapping):
        names = {str(key): value for key, value in cast("Mapping[object, object]", starts).items()}
    for name, value in names.items():
        tags = [str(one) for one in listed(value, "tags") if not str(one).startswith("!")]
        if name == "push" and tags:
            yield f"a tag such as {tags[0]}"
            if not listed(value, "branches"):
                continue
        if name == "release":
            yield "a published release"
        elif name == "push":
            branches = ", ".join(str(one) for one in listed(value, "branches")[:3])
            yield f"a push to {branches}" if branches else "every push"
        elif name.startswith("pull_request"):
            yield "a pull request"
        elif name == "workflow_dispatch":
            yield "by hand"
        elif name == "schedule":
            yield "a schedule"


def _gitlab(files: ProjectFiles, path: str) -> Workflow | None:
    document = files.yaml(path)
    if not isinstance(document, Mapping):
        return None
    jobs: list[str] = []
    commands: dict[str, None] = {}
    for name, body in cast("Mapping[object, object]", document).items():
        if not isinstance(name, str) or name in _GITLAB_WORDS or name.startswith("."):
            continue
        told = [line for one in texts(at(body, "script")) for line in _lines(one)]
        if told:
            jobs.append(name)
            commands |= dict.fromkeys(told)
    if not jobs:
        return None
    return Workflow(
        path=path, name="GitLab CI", triggers=(), jobs=tuple(jobs), commands=tuple(commands)
    )


def _lines(run: object) -> Iterator[str]:
    """The command lines of a step that a person could type, without those that only prepare."""
    if not isinstance(run, str):
        return
    for line in run.replace("\\\n", " ").splitlines():
        command = one_line(line)
        is_typed = command and not _NOT_TYPED.search(command)
        if is_typed and not _NO_WORK.match(command) and not command.startswith(("-", "}", "{")):
            yield command


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
        yield ProjectCommand(purpose, path, path, rank=rank, runs=runs)


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
    yield ProjectCommand(purpose, command, source, rank=rank, runs=runs)


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
