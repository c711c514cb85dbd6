"""What a usual change touches: it is made in a copy of the source, must work there, and is counted.

Five changes that a contributor makes most: a client, a setting, a type, a field of a memory, a
language of the graph. Generated pages do not count. A number here only goes down.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

import wellkept

SOURCE = Path(wellkept.__file__).parents[1]
_TIMEOUT_S = 120

Edit = tuple[str, str]
"""The text that is found once, and what stands there instead."""

CLIENT = {
    "clients/zed.py": '''"""A made-up client."""
from wellkept.clients.generic import events
from wellkept.clients.install.mcp_entries import JsonServerEntry, stdio_server

__all__ = ["events", "targets"]


def targets(scope, folders):
    return [JsonServerEntry(folders.project / ".zed.json", ("mcp",), stdio_server)]
''',
    "clients/known.py": (
        '        "amp": KnownClient(',
        """        "zed": KnownClient(
            title="Zed",
            module="wellkept.clients.zed",
            install="wellkept.clients.zed:targets",
            programs=("zed",),
            context_events=("prompt",),
            context_field="told",
            instructions=("ZED.md",),
            skills=".zed/skills",
            shell_marks=("ZED_AGENT",),
        ),
        "amp": KnownClient(""",
    ),
}
CLIENT_WORKS = """
import json, pathlib, tempfile
from datetime import UTC, datetime
from wellkept.clients.answers.render import render
from wellkept.clients.hook_spec import ClientFolders, InstallScope
from wellkept.clients.install.client_files import client_files
from wellkept.clients.known import agent_of
from wellkept.clients.registry import translate
from wellkept.context.client_files import ClientFiles
from wellkept.skills.library.api import CLIENT_FOLDERS

payload = json.dumps({"session_id": "s", "text": "Paint it green"}).encode()
assert len(translate("zed", "prompt", payload, event_id="e", at=datetime.now(UTC))) == 1
assert render("zed", "prompt", "told so") == b'{"told":"told so"}'
root = pathlib.Path(tempfile.mkdtemp())
folders = ClientFolders(home=root, project=root, environment={})
assert client_files("zed").main(InstallScope.PROJECT, folders).name == ".zed.json"
assert agent_of({"ZED_AGENT": "1"}) == "Zed"
(root / "ZED.md").write_text("Releases go out on Mondays.")
assert ClientFiles("zed", root=root, environment={}).has("Releases go out on Mondays.")
assert CLIENT_FOLDERS["zed"] == ".zed/skills"
"""

SETTING = {
    "core/settings/model.py": (
        "    context_sessions: int = setting(",
        """    context_greeting: str = setting(
        "",
        "A line of your own before what agents are told",
        why="a word to every agent",
        by_project=True,
    )
    context_sessions: int = setting(""",
    ),
    "context/packing.py": (
        "def render_context(",
        '''def greeted(text: str, greeting: str) -> str:
    """The text after the person's own line."""
    return f"{greeting}\\n{text}"


def render_context(''',
    ),
}
SETTING_WORKS = """
import os, subprocess, sys
from wellkept.context.packing import greeted
from wellkept.core.settings.model import Settings, rule_of

assert rule_of("context.greeting").by_project
assert greeted("told", Settings(context_greeting="Hello").context_greeting) == "Hello\\ntold"
shown = subprocess.run(
    [sys.executable, "-m", "wellkept.cli", "config", "list", "--json"],
    capture_output=True, text=True, check=True,
    env={**os.environ, "WELLKEPT_CONTEXT_GREETING": "Good morning"},
)
assert "Good morning" in shown.stdout
"""

TYPE = {
    "core/types.py": (
        '    GOTCHA = "gotcha"\n',
        '    GOTCHA = "gotcha"\n    HAZARD = "hazard"\n',
        "        MemoryType.GOTCHA: TypeRule(_WARN, warns=True),\n",
        "        MemoryType.GOTCHA: TypeRule(_WARN, warns=True),\n"
        "        MemoryType.HAZARD: TypeRule(_WARN, warns=True),\n",
        "            MemoryType.GOTCHA,\n",
        "            MemoryType.GOTCHA,\n            MemoryType.HAZARD,\n",
    ),
}
TYPE_WORKS = """
import os, subprocess, sys, tempfile

def run(*arguments):
    done = subprocess.run(
        [sys.executable, "-m", "wellkept.cli", *arguments],
        capture_output=True, text=True, cwd=os.environ["WELLKEPT_HOME"],
    )
    assert done.returncode == 0, done.stderr
    return done.stdout

run("remember", "The crane swings without a sound", "--type", "hazard")
assert "crane" in run("list", "--type", "hazard")
assert "crane" in run("list", "--type", "trap")
assert "crane" in run("recall", "which crane swings?")
assert "hazard" in run("list", "--json")
"""

FIELD = {
    "core/memory.py": (
        "    work_tokens: int | None = None\n    payload: Payload | None = None\n    valid_to",
        "    work_tokens: int | None = None\n    ticket: str | None = None\n"
        "    payload: Payload | None = None\n    valid_to",
        "    work_tokens: int | None = None\n    payload: Payload | None = None\n    valid_from",
        "    work_tokens: int | None = None\n    ticket: str | None = None\n"
        "    payload: Payload | None = None\n    valid_from",
    ),
    "memory/fields.py": (
        '    MemoryField("stale_at"',
        '    MemoryField("ticket", "Ticket it comes from.", "set"),\n    MemoryField("stale_at"',
    ),
    "store/memory_rows.py": (
        '"work_tokens", "payload", "content",\n)',
        '"work_tokens", "ticket", "payload", "content",\n)',
        "memory.citation, memory.work_tokens,\n",
        "memory.citation, memory.work_tokens,\n        memory.ticket,\n",
        "citation, work_tokens, payload, content,\n    ) = row",
        "citation, work_tokens, ticket, payload, content,\n    ) = row",
        "        work_tokens=work_tokens,\n",
        "        work_tokens=work_tokens,\n        ticket=ticket,\n",
    ),
    "store/sqlite/migrations.py": (
        '"names that both engines have", rename),\n',
        '"names that both engines have", rename),\n'
        '    Migration(99, "tickets", execute_all(("ALTER TABLE memories ADD COLUMN ticket TEXT",))),\n',
    ),
}
FIELD_WORKS = """
import os, pathlib
from wellkept.api import open as open_wellkept
from wellkept.core.memory import MemoryDraft
from wellkept.core.query import Filter
from wellkept.memory.remember import remember

home = pathlib.Path(os.environ["WELLKEPT_HOME"])

def opened():
    return open_wellkept(home / "m.db", cwd=home, environment=dict(os.environ))

with opened() as wk:
    draft = MemoryDraft(content="Ferries are green", ticket="SHIP-7")
    kept = remember(wk.engine, draft, project=wk.project)
with opened() as wk:
    (memory,) = wk.engine.store.list(Filter(project=wk.project), limit=5).items
    assert memory.ticket == "SHIP-7", memory
"""

LANGUAGE = {
    "graph/languages/zing.py": '''"""Zing, which is written like shell scripts: definitions only."""
from wellkept.graph.languages.others import known_by_symbols

LANGUAGES = (known_by_symbols("zing", ("tree_sitter_bash", "language")),)
''',
    "core/languages.py": (
        '    SourceLanguage("go", ".go", graph="go"',
        '    SourceLanguage("zing", ".zing", graph="zing"),\n'
        '    SourceLanguage("go", ".go", graph="go"',
    ),
}
LANGUAGE_WORKS = """
from wellkept.graph.index.file_kind import FileKind, file_kind
from wellkept.graph.languages import language_of
from wellkept.graph.parse.extract import extract

language = language_of("a.zing")
assert language is not None and language.name == "zing"
assert file_kind("src/a.zing") is FileKind.CODE
found = extract(b"paint() {\\n  echo green\\n}\\n", language)
assert "paint" in [one.qualname for one in found.symbols]
"""

PROBES: Mapping[str, tuple[int, Mapping[str, str | Sequence[str]], str]] = {
    "client": (2, CLIENT, CLIENT_WORKS),
    "setting": (2, SETTING, SETTING_WORKS),
    "type": (2, TYPE, TYPE_WORKS),
    # Three without the table of fields that people may set; PostgreSQL has its own rows.
    "field": (4, FIELD, FIELD_WORKS),
    "language": (2, LANGUAGE, LANGUAGE_WORKS),
}


def change(root: Path, edits: Mapping[str, str | Sequence[str]]) -> int:
    """Make a change in a copy of the source; the number of files that differ afterwards."""
    for name, edit in edits.items():
        path = root / "wellkept" / name
        if isinstance(edit, str):
            path.write_text(edit, "utf-8")
            continue
        text = path.read_text("utf-8")
        for old, new in zip(edit[::2], edit[1::2], strict=True):
            assert text.count(old) == 1, f"{name}: {text.count(old)} times {old!r}"
            text = text.replace(old, new)
        path.write_text(text, "utf-8")
    found = [path.relative_to(root) for path in root.rglob("*.py")]
    return sum(
        not (SOURCE / path).exists() or (SOURCE / path).read_bytes() != (root / path).read_bytes()
        for path in found
    )


def runs(root: Path, home: Path, code: str) -> subprocess.CompletedProcess[str]:
    """Run a program against a copy of the source."""
    home.mkdir()
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=home,
        env={
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(root),
            "WELLKEPT_HOME": str(home),
            "WELLKEPT_EMBEDDING_PROVIDER": "none",
        },
        capture_output=True,
        text=True,
        timeout=_TIMEOUT_S,
        check=False,
    )


@pytest.mark.repository
@pytest.mark.parametrize("name", PROBES)
def test_a_usual_change_touches_few_files_and_works(tmp_path: Path, name: str):
    most, edits, works = PROBES[name]
    root = tmp_path / "src"
    leave = shutil.ignore_patterns("__pycache__", "page", "*.egg-info")
    shutil.copytree(SOURCE, root, ignore=leave)
    before = runs(root, tmp_path / "before", works)
    assert before.returncode != 0, f"{name} works without the change"
    assert change(root, edits) <= most
    done = runs(root, tmp_path / "home", works)
    assert done.returncode == 0, done.stderr
