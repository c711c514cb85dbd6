"""Commands of JavaScript, TypeScript, Ruby, PHP and Elixir projects.

Read from package.json, deno.json, Gemfile, Rakefile, composer.json and mix.exs.
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
    one_line,
    purpose_of_name,
    purpose_of_words,
    rank_of_name,
)
from wellkept.project.repository.project_files import ProjectFiles, string, table, texts

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
        yield ProjectCommand(Purpose.SETUP, _INSTALL[manager], lock, rank=0 if main else 1)
        for script, runs in table(document, "scripts").items():
            if isinstance(runs, str) and not _LIFECYCLE.match(script):
                for one in _script(manager, script, " ".join(runs.split())):
                    yield one if main else replace(one, rank=one.rank + 3)
    for name in ("deno.json", "deno.jsonc"):
        for task, runs in table(files.json(name), "tasks").items():
            purpose = purpose_of_name(task)
            if purpose is not None and isinstance(runs, str):
                yield ProjectCommand(purpose, f"deno task {task}", name, runs=runs, rank=1)


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
        purpose,
        f"{start} {script}",
        "package.json",
        rank=rank,
        runs=shorten(runs, limit=MAX_COMMAND_CHARS),
    )


_RAKE_TASK = re.compile(
    r"^(?:task|multitask)\s*\(?:?[\"']?(?P<name>[a-z][\w:-]*)[\"']?|"
    r"^[\w:]*(?:TestTask|RakeTask)\.(?:new|create)(?:\(?\s*[:\"'](?P<made>\w+))?",
    re.MULTILINE,
)
"""Only tasks that stand outside of namespaces: the names of others are longer."""
_MIX_ALIASES = re.compile(r"^\s*defp? aliases\b.*?^\s*\[(?P<body>.*?)^\s*\]", re.S | re.M)
_MIX_ALIAS = re.compile(r"^\s*\"?(?P<name>[a-z][\w.]*)\"?: *(?P<runs>.+?),?$", re.M)


def scripting_commands(files: ProjectFiles) -> Iterator[ProjectCommand]:
    """Commands of a Ruby, PHP or Elixir project in the root."""
    yield from _ruby(files)
    yield from _php(files)
    yield from _mix(files)


def _ruby(files: ProjectFiles) -> Iterator[ProjectCommand]:
    if not files.has("Gemfile") and not files.has("Rakefile"):
        return
    bundle = "bundle exec " if files.has("Gemfile") else ""
    if files.has("Gemfile"):
        yield ProjectCommand(Purpose.SETUP, "bundle install", "Gemfile")
    tasks = set[str]()
    for path in [
        one
        for one in ("Rakefile", *files.matching(r"(?:rake|rakelib|tasks|lib/tasks)/\w+\.rake"))
        if files.has(one)
    ]:
        for found in _RAKE_TASK.finditer(files.text(path)):
            name = found["name"] or found["made"] or ("test" if "TestTask" in found[0] else "spec")
            if "RuboCop" in found[0]:
                name = found["made"] or "rubocop"
            purpose = purpose_of_name(name)
            if purpose is None or name in tasks or name.endswith(":"):
                continue
            tasks.add(name)
            rank = rank_of_name(name)
            yield ProjectCommand(purpose, f"{bundle}rake {name}", path, rank=rank)
    if files.has(".rspec") or files.matching(r"spec/.*_spec\.rb", limit=1):
        source = files.first(".rspec") or "Gemfile"
        yield ProjectCommand(Purpose.TEST, f"{bundle}rspec", source, rank=1)
    if files.has(".rubocop.yml"):
        for purpose, option in ((Purpose.LINT, ""), (Purpose.FORMAT, " -a")):
            yield ProjectCommand(purpose, f"{bundle}rubocop{option}", ".rubocop.yml", rank=1)
    gem = next(iter(files.matching(r"[\w.-]+\.gemspec", limit=1)), None)
    if gem:
        yield ProjectCommand(Purpose.BUILD, f"gem build {gem}", gem, rank=3)
        gem_tasks = "bundler/gem_tasks" in files.text("Rakefile")
        if gem_tasks and "release" not in tasks:
            yield ProjectCommand(Purpose.RELEASE, f"{bundle}rake release", "Rakefile", rank=1)


def _php(files: ProjectFiles) -> Iterator[ProjectCommand]:
    name = "composer.json"
    document = files.json(name)
    if not document:
        return
    yield ProjectCommand(Purpose.SETUP, "composer install", name)
    for script, runs in table(document, "scripts").items():
        lines = one_line("\n".join(texts(runs)))
        purpose = purpose_of_name(script) or purpose_of_words(lines.removeprefix("vendor/bin/"))
        if purpose is not None and "-cmd" not in script:
            rank = rank_of_name(script)
            yield ProjectCommand(purpose, f"composer {script}", name, rank=rank, runs=lines)
    needs = {**table(document, "require-dev"), **table(document, "require")}
    for package, purpose, command in (
        ("phpunit/phpunit", Purpose.TEST, "vendor/bin/phpunit"),
        ("pestphp/pest", Purpose.TEST, "vendor/bin/pest"),
        ("phpstan/phpstan", Purpose.TYPES, "vendor/bin/phpstan analyse"),
        ("vimeo/psalm", Purpose.TYPES, "vendor/bin/psalm"),
        ("friendsofphp/php-cs-fixer", Purpose.FORMAT, "vendor/bin/php-cs-fixer fix"),
        ("squizlabs/php_codesniffer", Purpose.LINT, "vendor/bin/phpcs"),
    ):
        if string(needs, package):
            yield ProjectCommand(purpose, command, name, rank=1)


def _mix(files: ProjectFiles) -> Iterator[ProjectCommand]:
    name = "mix.exs"
    text = files.text(name)
    if not text:
        return
    found = _MIX_ALIASES.search(text)
    for alias in _MIX_ALIAS.finditer(found["body"]) if found else ():
        # `test.setup` is a step of its own, whatever its name begins with.
        purpose = purpose_of_name(alias["name"]) if "." not in alias["name"] else None
        if purpose is not None:
            runs = " && ".join(re.findall(r"\"([^\"]+)\"", alias["runs"]))
            yield ProjectCommand(purpose, f"mix {alias['name']}", name, runs=one_line(runs))
    yield ProjectCommand(Purpose.SETUP, "mix deps.get", name, rank=2)
    yield ProjectCommand(Purpose.BUILD, "mix compile", name, rank=2)
    if files.matching(r"(?:[\w.-]+/)*test/test_helper\.exs", limit=1):
        yield ProjectCommand(Purpose.TEST, "mix test", name, rank=2)
    if re.search(r"^\s*package: ", text, re.MULTILINE):
        yield ProjectCommand(Purpose.RELEASE, "mix hex.publish", name, rank=2)
    if files.has(".formatter.exs"):
        yield ProjectCommand(Purpose.FORMAT, "mix format", ".formatter.exs", rank=1)
    for package, purpose, command in (
        (":credo", Purpose.LINT, "mix credo"),
        (":dialyxir", Purpose.TYPES, "mix dialyzer"),
    ):
        if f"{{{package}," in text:
            yield ProjectCommand(purpose, command, name, rank=1)
