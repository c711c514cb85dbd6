"""Commands of JavaScript and TypeScript projects: package.json scripts, deno tasks, test runners.

The package manager is read from `packageManager` or the lock file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from wellkept.core.languages import MANIFESTS
from wellkept.core.records import replace
from wellkept.core.text import shorten
from wellkept.project.commands.command import (
    MAX_COMMAND_CHARS,
    ProjectCommand,
    Purpose,
    purpose_of_name,
    purpose_of_words,
    rank_of_name,
)
from wellkept.project.repository.project_files import ProjectFiles, string, table

_LOCKS = (
    ("pnpm-lock.yaml", "pnpm"),
    ("yarn.lock", "yarn"),
    ("bun.lock", "bun"),
    ("bun.lockb", "bun"),
    ("package-lock.json", "npm"),
    ("npm-shrinkwrap.json", "npm"),
)
_INSTALL = {
    "npm": "npm install",
    "pnpm": "pnpm install",
    "yarn": "yarn install",
    "bun": "bun install",
}
_OTHER_LANGUAGES = tuple(sorted({*MANIFESTS} - {"package.json", "requirements.txt", "setup.py"}))
"""Where one of these stands, package.json is for a part of the project only."""
_LIFECYCLE = re.compile(r"(?:pre|post)[a-z]|install$")
_SHORT = frozenset({"test", "start"})
_WRITES = re.compile(r"--write|--fix|\bformat\b(?!.*--check)")


def javascript_commands(files: ProjectFiles) -> Iterator[ProjectCommand]:
    """Commands of package.json and deno.json in the root."""
    name = "package.json"
    document = files.json(name)
    if document:
        manager, lock = package_manager(files)
        main = is_main(files)
        yield ProjectCommand(
            purpose=Purpose.SETUP, command=_INSTALL[manager], source=lock, rank=0 if main else 1
        )
        for script, runs in table(document, "scripts").items():
            if isinstance(runs, str) and not _LIFECYCLE.match(script):
                for one in _script(manager, script, " ".join(runs.split())):
                    yield one if main else replace(one, rank=one.rank + 3)
    for name in ("deno.json", "deno.jsonc"):
        for task, runs in table(files.json(name), "tasks").items():
            purpose = purpose_of_name(task)
            if purpose is not None and isinstance(runs, str):
                yield ProjectCommand(
                    purpose=purpose, command=f"deno task {task}", source=name, runs=runs, rank=1
                )


def is_main(files: ProjectFiles) -> bool:
    """Whether package.json stands for the whole project."""
    return files.has("package.json") and not files.first(*_OTHER_LANGUAGES)


def package_manager(files: ProjectFiles) -> tuple[str, str]:
    """npm, pnpm, yarn or bun, and the file that tells."""
    named = string(files.json("package.json"), "packageManager").partition("@")[0]
    if named in _INSTALL:
        return named, "package.json"
    for lock, manager in _LOCKS:
        if files.has(lock):
            return manager, lock
    return "npm", "package.json"


def execute(files: ProjectFiles) -> str:
    """What starts a tool of the project: `npx `, `bunx ` ..."""
    starts = {"npm": "npx ", "pnpm": "pnpm exec ", "yarn": "yarn ", "bun": "bunx "}
    return starts[package_manager(files)[0]]


def _script(manager: str, script: str, runs: str) -> Iterator[ProjectCommand]:
    by_name, by_words = purpose_of_name(script), purpose_of_words(runs)
    purpose = by_name or by_words
    if purpose is None:
        return
    rank = rank_of_name(script)
    if purpose is Purpose.FORMAT and not _WRITES.search(f"{script} {runs}"):
        rank = 1
    elif purpose is Purpose.FORMAT:
        rank = 0
    if script.endswith(("watch", "dev")) and purpose is not Purpose.RUN:
        rank = 2
    is_short = script in _SHORT and manager != "bun"
    start = manager if is_short or manager == "yarn" else f"{manager} run"
    yield ProjectCommand(
        purpose=purpose,
        command=f"{start} {script}",
        source="package.json",
        rank=rank,
        runs=shorten(runs, limit=MAX_COMMAND_CHARS),
    )
