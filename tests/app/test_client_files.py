"""What a client loads by itself is compared with what would be told."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from wellkept.context.client_files import MAX_FILE_BYTES, ClientFiles

pytestmark = pytest.mark.feature("B9")

RULES = """# Project

- Always run `bun run lint` before committing.
- Never bypass commit signing; ask the user to unlock the agent.
- Services run on the host, Docker is not needed.

Tests live next to the code.
"""


def files(root: Path, client: str | None = "claude-code", home: Path | None = None) -> ClientFiles:
    return ClientFiles(client, root=root, environment={"HOME": str(home or root / "home")})


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "CLAUDE.md").write_text(RULES, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    "text",
    [
        "Always run `bun run lint` before committing",
        "never bypass commit signing",
        "Run bun run lint always before committing!",
        "Ask the user to unlock the agent: never bypass signing of a commit",
    ],
)
def test_a_statement_that_stands_in_a_file_is_loaded(root: Path, text: str) -> None:
    assert files(root).has(text)


@pytest.mark.parametrize(
    "text",
    [
        "Links go to the docs host, not the API host",
        "Always run `bun run lint:fix` before committing",
        "Docker is not needed, services run on the host 10.0.0.7",
        "Services: `DB_HOST=10.0.0.7 pnpm --filter api dev`, Docker is not needed on the host",
        "",
        "`",
    ],
)
def test_a_line_that_adds_an_exact_form_or_says_something_else_is_not(
    root: Path, text: str
) -> None:
    assert not files(root).has(text)


def test_a_command_counts_in_exactly_its_form(root: Path) -> None:
    assert files(root).has_command("bun run lint")
    assert not files(root).has_command("bun run lin")
    assert not files(root).has_command("CI=1 bun run lint")
    assert not files(root).has_command("")


def test_each_client_has_its_own_files(root: Path) -> None:
    (root / "AGENTS.md").write_text("Use tabs in all Go sources.", encoding="utf-8")
    (root / ".cursor" / "rules").mkdir(parents=True)
    (root / ".cursor" / "rules" / "a.mdc").write_text("Write tests in pytest style", "utf-8")
    assert files(root, "codex").has("Use tabs in all Go sources")
    assert not files(root, "claude-code").has("Use tabs in all Go sources")
    assert files(root, "cursor").has("Write tests in pytest style")
    assert not files(root, "codex").has("Write tests in pytest style")
    assert not files(root, "gemini").has("Tests live next to the code")
    for name in (None, "something else"):
        assert files(root, name).has("Use tabs in all Go sources")
        assert files(root, name).has("Tests live next to the code")


def test_user_files_the_memory_file_and_imports_count(root: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    slug = "".join(c if c.isalnum() and c.isascii() else "-" for c in str(root))
    memory = home / ".claude" / "projects" / slug / "memory" / "MEMORY.md"
    memory.parent.mkdir(parents=True)
    memory.write_text("The staging server has no swap.", encoding="utf-8")
    (home / ".claude" / "CLAUDE.md").write_text("Answer in short sentences.\n@style.md\n", "utf-8")
    (home / ".claude" / "style.md").write_text("Name units in variables.", encoding="utf-8")
    here = files(root, home=home)
    assert here.has("The staging server has no swap")
    assert here.has("Answer in short sentences")
    assert here.has("Name units in variables")


def test_a_file_that_changed_is_read_again(root: Path) -> None:
    assert not files(root).has("Use feature branches for everything")
    target = root / "CLAUDE.md"
    target.write_text(f"{RULES}\nUse feature branches for everything\n", encoding="utf-8")
    os.utime(target, ns=(1, 1))
    assert files(root).has("Use feature branches for everything")


def test_huge_odd_and_missing_files_do_no_harm(tmp_path: Path) -> None:
    assert not files(tmp_path).has("Anything at all would do")
    (tmp_path / "CLAUDE.md").mkdir()
    assert not files(tmp_path).has("Anything at all would do")
    (tmp_path / "CLAUDE.local.md").write_bytes(
        b"\xff\xfe@loop.md " + b"word " * MAX_FILE_BYTES + b"\nThe end is not read at all"
    )
    assert not files(tmp_path).has("The end is not read at all")
