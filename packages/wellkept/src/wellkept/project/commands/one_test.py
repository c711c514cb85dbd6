"""How one test file is run, for the test runner that a project uses.

The command names a test file that exists, so that it can be typed as it stands.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from wellkept.core.records import replace
from wellkept.project.commands.command import ProjectCommand, Purpose
from wellkept.project.commands.python_tools import runner, uses_pytest
from wellkept.project.commands.scripting_tools import execute, is_main
from wellkept.project.repository.project_files import ProjectFiles, table

_GO_TEST = re.compile(r"^func (Test[A-Z]\w*)\(", re.MULTILINE)
_RUNNERS = (
    ("vitest", "vitest run {path}"),
    ("jest", "jest {path}"),
    ("mocha", "mocha {path}"),
    ("ava", "ava {path}"),
    ("borp", "borp {path}"),
    ("tap", "tap {path}"),
    ("@playwright/test", "playwright test {path}"),
)


def one_test_commands(
    files: ProjectFiles, tests: Sequence[ProjectCommand]
) -> Iterator[ProjectCommand]:
    """One command for each test runner, the main language first."""
    yield from _python(files)
    every = _javascript(files, tests)
    yield from (one if is_main(files) else replace(one, rank=3) for one in every)
    yield from _go(files)
    yield from _rust(files)
    yield from _java(files)
    yield from _ruby(files)
    yield from _php(files)
    yield from _elixir(files)
    for one in tests:
        if one.command.startswith("ctest "):
            note = "`ctest -N` lists the names"
            yield _command(f"{one.command} -R NAME", one.source, note)


def _command(command: str, source: str, note: str) -> ProjectCommand:
    return ProjectCommand(Purpose.TEST_ONE, command, source, note=note)


def _python(files: ProjectFiles) -> Iterator[ProjectCommand]:
    source = uses_pytest(files)
    path = _plainest(files.matching(r"(?:[\w.-]+/)*(?:test_\w+|\w+_test)\.py"))
    if path and source:
        start = f"{runner(files)}pytest"
        note = f"one test: `{start} {path} -k NAME`"
        yield _command(f"{start} {path}", source, note)
    elif path and files.first("pyproject.toml", "setup.py", "setup.cfg"):
        yield _command(f"{runner(files)}python -m unittest {path}", path, "")


def _javascript(files: ProjectFiles, tests: Sequence[ProjectCommand]) -> Iterator[ProjectCommand]:
    document = files.json("package.json")
    needs = {**table(document, "devDependencies"), **table(document, "dependencies")}
    named = r"(?:[\w.@-]+/)*(?:[\w.@-]+[.-])?(?:test|spec)\.[cm]?[jt]sx?"
    # Some runners take every file of the folder of tests.
    path = _plainest(files.matching(named)) or _plainest(
        files.matching(r"(?:tests?|spec|__tests__)/(?!index\.)[\w.@-]+\.[cm]?[jt]sx?")
    )
    if not path or not document:
        return
    said = " ".join(one.runs for one in tests if one.source == "package.json")
    used = [(n, c) for n, c in _RUNNERS if n in needs or re.search(rf"\b{re.escape(n)}\b", said)]
    used.sort(key=lambda one: not re.search(rf"\b{re.escape(one[0])}\b", said))
    if used:
        name, command = used[0]
        option = {"vitest": " -t NAME", "jest": " -t NAME", "mocha": " -g NAME"}.get(name, "")
        if name == "mocha" and (needed := re.search(r"--require \S+", said)):
            command = command.replace("{path}", f"{needed[0]} {{path}}")
        line = execute(files) + command.format(path=path)
        yield _command(line, "package.json", f"one test: `{line}{option}`" if option else "")
    else:
        for start in ("bun test", "node --test"):
            if start in said:
                yield _command(f"{start} {path}", "package.json", "")
                return


def _go(files: ProjectFiles) -> Iterator[ProjectCommand]:
    if not files.has("go.mod"):
        return
    for path in files.matching(r"(?:[\w.-]+/)*[\w.-]+_test\.go", limit=5):
        found = _GO_TEST.search(files.text(path))
        if found:
            folder = path.rpartition("/")[0]
            target = f"./{folder}" if folder else "."
            note = f"`{found[1]}` is in {path}; Go runs packages, `-run` chooses tests by name"
            yield _command(f"go test {target} -run {found[1]}", "go.mod", note)
            return


def _rust(files: ProjectFiles) -> Iterator[ProjectCommand]:
    if not files.has("Cargo.toml"):
        return
    found = files.matching(r"(?:[\w.-]+/)*tests/[\w-]+\.rs", limit=30)
    whole = [path for path in found if "#[test" in files.text(path)]
    named = table(files.toml("Cargo.toml"), "test")
    if whole and not named:
        path = next((p for p in whole if p.endswith(("/lib.rs", "/tests.rs"))), whole[0])
        name = path.rpartition("/")[2].removesuffix(".rs")
        note = "`cargo test NAME` runs the tests whose names contain NAME"
        yield _command(f"cargo test --test {name}", path, note)
    else:
        yield _command("cargo test NAME", "Cargo.toml", "runs the tests whose names contain NAME")


def _java(files: ProjectFiles) -> Iterator[ProjectCommand]:
    path = _plainest(
        files.matching(r"(?:[\w.-]+/)*src/test/(?:java|kotlin|groovy)/.*Test\.(?:java|kt|groovy)")
    )
    if path is None:
        return
    name = path.rpartition("/")[2].rpartition(".")[0]
    module = path.partition("src/test/")[0].rstrip("/")
    if files.has("pom.xml"):
        mvn = "./mvnw" if files.has("mvnw") else "mvn"
        part = f" -pl {module}" if module else ""
        note = f"one test: `-Dtest={name}#method`"
        yield _command(f"{mvn}{part} test -Dtest={name}", "pom.xml", note)
    elif source := files.first(
        "build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts"
    ):
        gradle = "./gradlew" if files.has("gradlew") else "gradle"
        part = ":" + module.replace("/", ":") + ":" if module else ""
        note = f"one test: `--tests {name}.method`"
        yield _command(f"{gradle} {part}test --tests {name}", source, note)


def _ruby(files: ProjectFiles) -> Iterator[ProjectCommand]:
    if not files.has("Gemfile"):
        return
    spec = _plainest(files.matching(r"spec/(?:[\w.-]+/)*[\w-]+_spec\.rb"))
    if spec:
        yield _command(
            f"bundle exec rspec {spec}", spec, f"one test: `bundle exec rspec {spec}:LINE`"
        )
    tests = files.matching(r"test/(?:[\w.-]+/)*(?:[\w-]+_test|(?:test|spec)_[\w-]+)\.rb")
    path = _plainest([one for one in tests if not one.endswith("_helper.rb")])
    if path and not spec:
        note = "one test: add `-n /NAME/`"
        yield _command(f"bundle exec ruby -Ilib:test {path}", path, note)
    feature = _plainest(files.matching(r"features/(?:[\w.-]+/)*[\w-]+\.feature"))
    if feature and not spec:
        yield _command(f"bundle exec cucumber {feature}", feature, "")


def _php(files: ProjectFiles) -> Iterator[ProjectCommand]:
    path = _plainest(files.matching(r"tests?/(?:[\w.-]+/)*\w+Test\.php"))
    if path and files.has("composer.json"):
        tool = "pest" if '"pestphp/pest"' in files.text("composer.json") else "phpunit"
        source = files.first("phpunit.xml", "phpunit.xml.dist") or "composer.json"
        note = "one test: add `--filter NAME`"
        yield _command(f"vendor/bin/{tool} {path}", source, note)


def _elixir(files: ProjectFiles) -> Iterator[ProjectCommand]:
    path = _plainest(files.matching(r"test/(?:[\w.-]+/)*[\w-]+_test\.exs"))
    if path and files.has("mix.exs"):
        yield _command(f"mix test {path}", path, f"one test: `mix test {path}:LINE`")


def _plainest(paths: Sequence[str]) -> str | None:
    """A short path in few folders."""
    usable = [p for p in paths if not re.search(r"(?:^|/)(?:examples?|demos?|e2e|bench\w*)/", p)]
    return min(usable or paths, key=lambda p: (p.count("/"), len(p), p), default=None)
