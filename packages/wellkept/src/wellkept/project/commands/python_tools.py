"""Commands of Python projects: pyproject (hatch, pdm, poetry, poe, taskipy), tox, nox, runners."""

from __future__ import annotations

import re
from collections.abc import Iterator

from wellkept.project.commands.command import (
    ProjectCommand,
    Purpose,
    one_line,
    purpose_of_name,
    purpose_of_words,
)
from wellkept.project.repository.project_files import ProjectFiles, at, listed, string, table, texts

_SESSION = re.compile(
    r"^@nox\.session\b[^\n]*(?:\n(?:\s[^\n]*|\)[^\n]*|@[^\n]*))*?\ndef (?P<name>\w+)\(",
    re.MULTILINE,
)
_RUN = re.compile(r"session\.run\(\s*(?P<words>(?:f?[\"'][^\"'\n]+[\"'],?\s*)+)")
_SECTION = re.compile(r"^\[(?P<name>[^\]\n]+)\]$(?P<body>(?:\n(?!\[).*)*)", re.MULTILINE)
_DEV_EXTRAS = ("test", "tests", "testing", "dev", "develop", "all")


def python_commands(files: ProjectFiles) -> Iterator[ProjectCommand]:
    """Commands of a Python project in the root."""
    name = "pyproject.toml"
    document = files.toml(name)
    if document or files.first("setup.py", "setup.cfg", "tox.ini", "noxfile.py", "pytest.ini"):
        yield from _tool_scripts(document, name)
        yield from _tox(files)
        yield from _nox(files)
        yield from _pytest(files)
        yield from _checks(files, document)
        yield from _entry_points(document, prefix=runner(files))
        yield from _setup(files, document)
        if table(document, "build-system"):
            command = "uv build" if files.has("uv.lock") else "python -m build"
            yield ProjectCommand(Purpose.BUILD, command, name, rank=3)


def runner(files: ProjectFiles) -> str:
    """What stands before a tool of the project: `uv run `, `poetry run ` or nothing."""
    if files.has("uv.lock") or table(files.toml("pyproject.toml"), "tool", "uv"):
        return "uv run "
    if files.has("poetry.lock") or table(files.toml("pyproject.toml"), "tool", "poetry", "group"):
        return "poetry run "
    if files.has("pdm.lock"):
        return "pdm run "
    return "pipenv run " if files.has("Pipfile") else ""


def uses_pytest(files: ProjectFiles) -> str | None:
    """The file that shows that tests run with pytest."""
    document = files.toml("pyproject.toml")
    if at(document, "tool", "pytest") is not None:
        return "pyproject.toml"
    if files.has("pytest.ini"):
        return "pytest.ini"
    for name in ("setup.cfg", "tox.ini", "noxfile.py", *files.matching(r"requirements[\w./-]*")):
        if re.search(r"^\[(?:tool:)?pytest\]|\bpytest\b", files.text(name), re.MULTILINE):
            return name
    if "pytest" in files.text("pyproject.toml"):
        return "pyproject.toml"
    found = files.matching(r"(?:.*/)?conftest\.py", limit=1)
    return found[0] if found else None


def _tool_scripts(document: object, name: str) -> Iterator[ProjectCommand]:
    tasks: list[tuple[str, str, object]] = []
    for environment, body in table(document, "tool", "hatch", "envs").items():
        prefix = "" if environment == "default" else f"{environment}:"
        for script, runs in table(body, "scripts").items():
            tasks.append((f"hatch run {prefix}{script}", script, runs))
    for tool, start in (("pdm", "pdm run"), ("rye", "rye run"), ("pixi", "pixi run")):
        path = ("tasks",) if tool == "pixi" else ("scripts",)
        for script, runs in table(document, "tool", tool, *path).items():
            tasks.append((f"{start} {script}", script, runs))
    for tool, start in (("poe", "poe"), ("taskipy", "task")):
        for script, runs in table(document, "tool", tool, "tasks").items():
            tasks.append((f"{start} {script}", script, runs))
    for command, script, runs in tasks:
        told = texts(at(runs, "cmd") or at(runs, "shell") or runs)
        lines = one_line("\n".join(told))
        purpose = purpose_of_name(script) or purpose_of_words(lines)
        if purpose is not None:
            rank = 0 if ":" not in command else 1
            yield ProjectCommand(purpose, command, name, runs=lines, rank=rank)


def _tox(files: ProjectFiles) -> Iterator[ProjectCommand]:
    text, source = files.text("tox.ini"), "tox.ini"
    if not text:
        document = files.toml("pyproject.toml")
        text, source = string(document, "tool", "tox", "legacy_tox_ini"), "pyproject.toml"
        base = table(document, "tool", "tox", "env_run_base")
        for name, body in (("", base), *table(document, "tool", "tox", "env").items()):
            lines = [" ".join(texts(one)) for one in listed(body, "commands")]
            if one := _of_environment("tox", name, "\n".join(lines), source):
                yield one
    sections = {found["name"]: found["body"] for found in _SECTION.finditer(text)}
    for name, body in sections.items():
        if name != "testenv" and not name.startswith("testenv:"):
            continue
        environment = name.partition(":")[2]
        runs = one_line(_ini_value(body, "commands").replace("{posargs}", "").strip())
        if one := _of_environment("tox", environment, runs, source):
            yield one


def _of_environment(tool: str, name: str, runs: str, source: str) -> ProjectCommand | None:
    """What an environment of tox or a session of nox is for, by its name, else by what it runs:
    then it may be one way of many."""
    named = purpose_of_name(name) if name else Purpose.TEST if runs else None
    purpose = named or purpose_of_words(runs)
    if purpose is None:
        return None
    command = " ".join((tool, {"tox": "-e", "nox": "-s"}[tool], name)) if name else tool
    told = one_line(runs)
    return ProjectCommand(purpose, command, source, runs=told, rank=0 if named else 1)


def _ini_value(body: str, name: str) -> str:
    found = re.search(rf"^{name}\s*=(?P<value>[^\n]*(?:\n[ \t]+[^\n]*)*)", body, re.MULTILINE)
    return re.sub(r"\{posargs[^}]*\}|\{\[[^}]*\}", "", found["value"]) if found else ""


def _nox(files: ProjectFiles) -> Iterator[ProjectCommand]:
    text = files.text("noxfile.py")
    for found in _SESSION.finditer(text):
        name = found["name"]
        body = text[found.end() :].split("\n@nox", 1)[0]
        run = _RUN.search(body)
        runs = " ".join(re.findall(r"[\"']([^\"']+)[\"']", run["words"])) if run else ""
        if one := _of_environment("nox", name, runs, "noxfile.py"):
            yield one


def _pytest(files: ProjectFiles) -> Iterator[ProjectCommand]:
    source = uses_pytest(files)
    if source is not None:
        command = f"{runner(files)}pytest"
        yield ProjectCommand(Purpose.TEST, command, source, rank=1)
    elif files.matching(r"(?:tests?/)?test_\w+\.py", limit=1):
        yield ProjectCommand(
            Purpose.TEST,
            f"{runner(files)}python -m unittest",
            files.first("pyproject.toml", "setup.py", "setup.cfg") or "setup.py",
            rank=3,
        )


def _checks(files: ProjectFiles, document: object) -> Iterator[ProjectCommand]:
    prefix = runner(files)
    for purpose, tool, command, others in (
        (Purpose.LINT, "ruff", "ruff check", ("ruff.toml", ".ruff.toml")),
        (Purpose.LINT, "flake8", "flake8", (".flake8",)),
        (Purpose.LINT, "pylint", "pylint", (".pylintrc",)),
        (Purpose.FORMAT, "black", "black .", ()),
        (Purpose.TYPES, "mypy", "mypy", ("mypy.ini",)),
        (Purpose.TYPES, "pyright", "pyright", ("pyrightconfig.json",)),
        (Purpose.TYPES, "ty", "ty check", ("ty.toml",)),
    ):
        is_set = at(document, "tool", tool) is not None
        source = "pyproject.toml" if is_set else files.first(*others)
        if source is None and re.search(rf"^\[{tool}\b", files.text("setup.cfg"), re.MULTILINE):
            source = "setup.cfg"
        if source is not None:
            yield ProjectCommand(purpose, prefix + command, source, rank=1)


def _entry_points(document: object, *, prefix: str) -> Iterator[ProjectCommand]:
    scripts = table(document, "project", "scripts") or table(document, "tool", "poetry", "scripts")
    for script, target in list(scripts.items())[:3]:
        note = f"it starts at `{target}`" if isinstance(target, str) else ""
        yield ProjectCommand(Purpose.RUN, prefix + script, "pyproject.toml", rank=1, note=note)


def _setup(files: ProjectFiles, document: object) -> Iterator[ProjectCommand]:
    for lock, command in (
        ("uv.lock", "uv sync"),
        ("poetry.lock", "poetry install"),
        ("pdm.lock", "pdm install"),
        ("Pipfile", "pipenv install --dev"),
    ):
        if files.has(lock):
            yield ProjectCommand(Purpose.SETUP, command, lock)
            return
    if runner(files) == "uv run ":
        yield ProjectCommand(Purpose.SETUP, "uv sync", "pyproject.toml")
        return
    extras = table(document, "project", "optional-dependencies")
    groups = table(document, "dependency-groups")
    named = next((one for one in _DEV_EXTRAS if one in extras), None)
    if named is not None:
        command = f"pip install -e '.[{named}]'"
        yield ProjectCommand(Purpose.SETUP, command, "pyproject.toml")
    elif group := next((one for one in _DEV_EXTRAS if one in groups), None):
        command = f"pip install -e . --group {group}"
        yield ProjectCommand(Purpose.SETUP, command, "pyproject.toml")
    for path in files.matching(
        r"(?:requirements/)?(?:requirements[-_.]?)?(?:dev\w*|tests?)?\.txt|requirements\.txt"
    ):
        if path.startswith("requirements"):
            yield ProjectCommand(Purpose.SETUP, f"pip install -r {path}", path, rank=1)
            return
