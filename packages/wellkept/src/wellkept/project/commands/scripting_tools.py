"""Commands of Ruby, PHP and Elixir projects: Gemfile, Rakefile, composer scripts, mix."""

from __future__ import annotations

import re
from collections.abc import Iterator

from wellkept.project.commands.command import (
    ProjectCommand,
    Purpose,
    one_line,
    purpose_of_name,
    purpose_of_words,
    rank_of_name,
)
from wellkept.project.repository.project_files import ProjectFiles, string, table, texts

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
        yield ProjectCommand(purpose=Purpose.SETUP, command="bundle install", source="Gemfile")
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
            yield ProjectCommand(
                purpose=purpose, command=f"{bundle}rake {name}", source=path, rank=rank
            )
    if files.has(".rspec") or files.matching(r"spec/.*_spec\.rb", limit=1):
        source = files.first(".rspec") or "Gemfile"
        yield ProjectCommand(purpose=Purpose.TEST, command=f"{bundle}rspec", source=source, rank=1)
    if files.has(".rubocop.yml"):
        for purpose, option in ((Purpose.LINT, ""), (Purpose.FORMAT, " -a")):
            yield ProjectCommand(
                purpose=purpose, command=f"{bundle}rubocop{option}", source=".rubocop.yml", rank=1
            )
    gem = next(iter(files.matching(r"[\w.-]+\.gemspec", limit=1)), None)
    if gem:
        yield ProjectCommand(purpose=Purpose.BUILD, command=f"gem build {gem}", source=gem, rank=3)
        gem_tasks = "bundler/gem_tasks" in files.text("Rakefile")
        if gem_tasks and "release" not in tasks:
            yield ProjectCommand(
                purpose=Purpose.RELEASE, command=f"{bundle}rake release", source="Rakefile", rank=1
            )


def _php(files: ProjectFiles) -> Iterator[ProjectCommand]:
    name = "composer.json"
    document = files.json(name)
    if not document:
        return
    yield ProjectCommand(purpose=Purpose.SETUP, command="composer install", source=name)
    for script, runs in table(document, "scripts").items():
        lines = one_line("\n".join(texts(runs)))
        purpose = purpose_of_name(script) or purpose_of_words(lines.removeprefix("vendor/bin/"))
        if purpose is not None and "-cmd" not in script:
            rank = rank_of_name(script)
            yield ProjectCommand(
                purpose=purpose, command=f"composer {script}", source=name, rank=rank, runs=lines
            )
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
            yield ProjectCommand(purpose=purpose, command=command, source=name, rank=1)


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
            yield ProjectCommand(
                purpose=purpose, command=f"mix {alias['name']}", source=name, runs=one_line(runs)
            )
    yield ProjectCommand(purpose=Purpose.SETUP, command="mix deps.get", source=name, rank=2)
    yield ProjectCommand(purpose=Purpose.BUILD, command="mix compile", source=name, rank=2)
    if files.matching(r"(?:[\w.-]+/)*test/test_helper\.exs", limit=1):
        yield ProjectCommand(purpose=Purpose.TEST, command="mix test", source=name, rank=2)
    if re.search(r"^\s*package: ", text, re.MULTILINE):
        yield ProjectCommand(
            purpose=Purpose.RELEASE, command="mix hex.publish", source=name, rank=2
        )
    if files.has(".formatter.exs"):
        yield ProjectCommand(
            purpose=Purpose.FORMAT, command="mix format", source=".formatter.exs", rank=1
        )
    for package, purpose, command in (
        (":credo", Purpose.LINT, "mix credo"),
        (":dialyxir", Purpose.TYPES, "mix dialyzer"),
    ):
        if f"{{{package}," in text:
            yield ProjectCommand(purpose=purpose, command=command, source=name, rank=1)
