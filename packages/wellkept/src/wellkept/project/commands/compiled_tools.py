"""Commands of Rust, Go, Java, Kotlin, .NET, CMake and Autotools projects, and of containers.

What their build files make possible.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from wellkept.project.commands.command import ProjectCommand, Purpose, one_line, purpose_of_name
from wellkept.project.repository.project_files import ProjectFiles, at, listed, string, table, texts

_MAIN = re.compile(r"^package main\b", re.MULTILINE)
_APPLICATION = re.compile(
    r"^\s*(?:application\s*$|id\s*\(?[\"']application[\"']|apply plugin: *[\"']application[\"'])"
    r"|\bid\([\"']application[\"']\)",
    re.MULTILINE,
)
_PLUGIN = re.compile(r"spotless|checkstyle|ktlint|detekt", re.IGNORECASE)


def compiled_commands(files: ProjectFiles) -> Iterator[ProjectCommand]:
    """Commands of every build file in the root."""
    yield from _cargo(files)
    yield from _go(files)
    yield from _maven(files)
    yield from _gradle(files)
    yield from _dotnet(files)
    yield from _cmake(files)
    if files.has("configure.ac") and files.has("Makefile.am"):
        build = "autoreconf -i && ./configure && make"
        yield _default(Purpose.BUILD, build, "configure.ac")
        yield _default(Purpose.TEST, "make check", "Makefile.am")


def _cargo(files: ProjectFiles) -> Iterator[ProjectCommand]:
    name = "Cargo.toml"
    document = files.toml(name)
    if not document:
        return
    every = " --workspace" if listed(document, "workspace", "members") else ""
    yield _default(Purpose.TEST, f"cargo test{every}", name)
    yield _default(Purpose.BUILD, "cargo build --release", name)
    yield _default(Purpose.LINT, f"cargo clippy{every}", files.first("clippy.toml") or name)
    yield _default(
        Purpose.FORMAT, "cargo fmt", files.first("rustfmt.toml", ".rustfmt.toml") or name
    )
    named = [string(one, "name") for one in listed(document, "bin")]
    if named or files.has("src/main.rs"):
        start = files.first("src/main.rs", "crates/core/main.rs")
        note = f"it starts at `{start}`" if start else ""
        command = f"cargo run --bin {named[0]} --" if len(named) > 1 else "cargo run --"
        yield ProjectCommand(Purpose.RUN, command, name, rank=2, note=note)
    aliases = ".cargo/config.toml"
    for alias, runs in table(files.toml(aliases), "alias").items():
        if (purpose := purpose_of_name(alias)) is not None:
            said = "cargo " + " ".join(texts(runs))
            yield ProjectCommand(purpose, f"cargo {alias}", aliases, rank=1, runs=said)


def _go(files: ProjectFiles) -> Iterator[ProjectCommand]:
    name = "go.mod"
    if not files.has(name):
        return
    yield _default(Purpose.TEST, "go test ./...", name)
    yield _default(Purpose.SETUP, "go mod download", name)
    yield _default(Purpose.FORMAT, "gofmt -w .", name)
    linter = files.first(".golangci.yml", ".golangci.yaml", ".golangci.toml")
    if linter:
        yield ProjectCommand(Purpose.LINT, "golangci-lint run", linter, rank=1)
    else:
        yield _default(Purpose.LINT, "go vet ./...", name)
    mains = [p for p in files.matching(r"(?:cmd/[\w.-]+/)?main\.go") if _MAIN.search(files.text(p))]
    folder = mains[0].rpartition("/")[0] if mains else ""
    target = f"./{folder}" if folder else "."
    if mains:
        note = f"it starts at `{mains[0]}`"
        yield ProjectCommand(Purpose.RUN, f"go run {target}", mains[0], rank=2, note=note)
    yield _default(Purpose.BUILD, f"go build {target if mains else './...'}", name)


def _maven(files: ProjectFiles) -> Iterator[ProjectCommand]:
    name = "pom.xml"
    text = files.text(name)
    if not text:
        return
    mvn = "./mvnw" if files.has("mvnw") else "mvn"
    yield _default(Purpose.TEST, f"{mvn} test", name)
    yield _default(Purpose.BUILD, f"{mvn} package", name)
    if "spotless-maven" in text:
        yield ProjectCommand(Purpose.FORMAT, f"{mvn} spotless:apply", name, rank=1)
        yield ProjectCommand(Purpose.LINT, f"{mvn} spotless:check", name, rank=1)
    elif "maven-checkstyle-plugin" in text:
        yield ProjectCommand(Purpose.LINT, f"{mvn} checkstyle:check", name, rank=1)
    if "maven-release-plugin" in text:
        yield ProjectCommand(
            Purpose.RELEASE, f"{mvn} release:prepare release:perform", name, rank=1
        )


def _gradle(files: ProjectFiles) -> Iterator[ProjectCommand]:
    name = files.first("build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts")
    if name is None:
        return
    gradle = "./gradlew" if files.has("gradlew") else "gradle"
    yield _default(Purpose.TEST, f"{gradle} test", name)
    yield _default(Purpose.BUILD, f"{gradle} build", name)
    scripts = files.matching(
        r"(?:[\w./-]+/)?[\w.-]+\.gradle(?:\.kts)?|gradle/[\w.-]+\.toml", limit=60
    )
    for path in scripts:
        found = _PLUGIN.search(files.text(path))
        tool = found[0].lower() if found else ""
        if tool == "spotless":
            for purpose, task in (
                (Purpose.FORMAT, "spotlessApply"), (Purpose.LINT, "spotlessCheck"),
            ):  # fmt: skip
                yield ProjectCommand(purpose, f"{gradle} {task}", path, rank=1)
            break
        if tool:
            task = {"checkstyle": "checkstyleMain", "ktlint": "ktlintCheck", "detekt": "detekt"}
            yield ProjectCommand(Purpose.LINT, f"{gradle} {task[tool]}", path, rank=1)
            break
    if _APPLICATION.search(files.text(name)):
        yield _default(Purpose.RUN, f"{gradle} run", name)


def _dotnet(files: ProjectFiles) -> Iterator[ProjectCommand]:
    found = files.matching(r"[\w.-]+\.(?:slnx?|csproj)", limit=1)
    for name in found:
        yield _default(Purpose.TEST, "dotnet test", name)
        yield _default(Purpose.BUILD, "dotnet build", name)


def _cmake(files: ProjectFiles) -> Iterator[ProjectCommand]:
    name = "CMakeLists.txt"
    text = files.text(name)
    if not re.search(r"^\s*project\s*\(", text, re.MULTILINE | re.IGNORECASE):
        return
    yield _default(Purpose.BUILD, "cmake -B build && cmake --build build", name)
    if _has_tests(text):
        yield _default(Purpose.TEST, "ctest --test-dir build", name)


def _has_tests(text: str) -> bool:
    """Whether a plain configuration has tests: an option that switches them on is on by default."""
    conditions: list[str] = []
    for line in text.splitlines():
        word = line.strip().lower()
        if found := re.match(r"if\s*\((.*)\)", word):
            conditions.append(found[1].strip())
        elif word.startswith(("else", "endif")) and conditions:
            conditions.pop()
            if word.startswith("else"):
                conditions.append("")
        met = all(_is_on(text, condition) for condition in conditions)
        if met and re.match(r"enable_testing\s*\(|include\s*\(\s*ctest\s*\)", word):
            return True
    return False


def _is_on(text: str, condition: str) -> bool:
    """Whether a condition is one option that is on where the project is built by itself."""
    on = r"on|true|1|\$\{\w*(?:master_project|main_project|is_top_?level|toplevel)\w*\}"
    option = rf"option\s*\(\s*{re.escape(condition)}\s+\"[^\"]*\"\s+(?:{on})\s*\)"
    is_own = re.fullmatch(r"\w*(?:master_project|main_project|is_top_?level)", condition)
    return bool(is_own or (condition and re.search(option, text, re.IGNORECASE)))


def _default(purpose: Purpose, command: str, source: str) -> ProjectCommand:
    return ProjectCommand(purpose, command, source, rank=2)


_LAST = re.compile(r"^(?:CMD|ENTRYPOINT)\s+(?P<words>.+)$", re.MULTILINE)
_EXPOSED = re.compile(r"^EXPOSE\s+(?P<port>\d+)", re.MULTILINE)
_COMPOSE = ("compose.yaml", "compose.yml", "docker-compose.yml", "docker-compose.yaml")
_DEVCONTAINERS = r"\.devcontainer/(?:[\w-]+/)?devcontainer\.json|\.devcontainer\.json"


def container_commands(files: ProjectFiles) -> Iterator[ProjectCommand]:
    """Commands of container files; they come after what the project names itself."""
    compose = files.first(*_COMPOSE)
    if compose is not None:
        services = ", ".join(list(table(files.yaml(compose), "services"))[:6])
        note = f"services: {services}" if services else ""
        yield ProjectCommand(Purpose.RUN, "docker compose up", compose, rank=2, note=note)
    text = files.text("Dockerfile")
    # An image that starts nothing is a part of something else.
    if last := _LAST.findall(text):
        words = re.sub(r'[\[\]",]+', " ", last[-1]).split()
        port = _EXPOSED.search(text)
        note = f"the image starts `{' '.join(words)}`" if words else ""
        name = re.sub(r"[^a-z0-9._-]", "-", files.root.name.lower())
        yield ProjectCommand(
            Purpose.BUILD,
            f"docker build -t {name} .",
            "Dockerfile",
            rank=4,
            note=note + (f" on port {port['port']}" if port and note else ""),
        )
    for path in files.matching(_DEVCONTAINERS, limit=1):
        document = files.json(path)
        command = at(document, "postCreateCommand")
        line = one_line(command) if isinstance(command, str) else ""
        image = string(document, "image")
        if line:
            yield ProjectCommand(
                Purpose.SETUP,
                line,
                path,
                rank=2,
                note=f"development container from {image}" if image else "development container",
            )
