"""Nothing that was remembered is lost unless a person deletes it."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest

from tests.journeys.product import Installation

_NAMES = ("cache", "parser", "queue", "router", "index", "worker", "mailer", "ledger", "scanner")
_TIMES = ("created_at", "updated_at", "valid_from", "accessed_at")


def fill(here: Installation, *, count: int) -> list[str]:
    """Statements nobody verified, written 120 to 400 days ago; returns their texts."""
    here.wellkept("remember", "Deploys go through staging", "--source", "agent_explicit")
    head, line = here.wellkept("admin", "export", "-").out.splitlines()
    plain, now = json.loads(line), datetime.now(UTC)
    lines, texts = [head], list[str]()
    for number in range(count):
        at = now - timedelta(days=120 + 280 * number / count)
        text = f"The {_NAMES[number % len(_NAMES)]} of unit {number} retries {number} times"
        own = {"id": f"0190c3f0-0000-7000-8000-{number:012d}", "content": text, "importance": 0.5}
        lines.append(json.dumps({**plain, **own, **dict.fromkeys(_TIMES, at.isoformat())}))
        texts.append(text)
    # Of a session long over, and doubted: what maintenance archives.
    lines[1] = json.dumps({**json.loads(lines[1]), "scope": "session"})
    lines[2] = json.dumps({**json.loads(lines[2]), "confidence": 0.1})
    here.wellkept("admin", "import", "--here", "-", stdin="\n".join(lines))
    return texts


def contents(here: Installation, *options: str) -> set[str]:
    items = here.wellkept("list", "--json", "--limit", "1000", *options).json["items"]
    return {item["content"] for item in items}


@pytest.mark.feature("A6", "A5")
def test_a6_a_project_left_for_half_a_year_keeps_its_memory(here: Installation) -> None:
    texts = fill(here, count=120)
    everything = {*texts, "Deploys go through staging"}
    assert contents(here) == everything

    said = here.wellkept("context")
    assert "Maintenance archived 2 memories" in said.err
    here.wellkept("admin", "maintain")

    # Nothing is gone: what ended is in the archive, the rest where it was, and found.
    assert contents(here) == everything - {*texts[:2]}
    assert contents(here, "--archived") == {*texts[:2]}
    found = here.wellkept("recall", "how often does unit 119 retry?", "--json").json
    assert texts[119] in {item["memory"]["content"] for item in found["hits"]}
    assert all(item["importance"] > 0.4 for item in here.wellkept("list", "--json").json["items"])

    # The log has a line of it, and undo takes it back for good.
    told = [
        one
        for one in here.wellkept("session", "events").out.splitlines()
        if "memories_archived" in one
    ]
    (step,) = here.wellkept("undo", "--json").json["items"]
    assert (step["action"], step["count"]) == ("maintenance", 2)
    assert len(told) == 1
    assert step["id"] in told[0]
    here.wellkept("undo", step["id"])
    here.wellkept("admin", "maintain")
    assert contents(here) == everything

    # Only a person deletes, and sees before what would go.
    preview = here.wellkept("admin", "maintain", "--only", "prune", "--dry-run", "--json").json
    assert {item["after"] for item in preview["items"]} == {"removed"}
    assert contents(here) == everything
    here.wellkept("admin", "maintain", "--only", "prune", "--yes")
    assert contents(here) == everything - {*texts[:2]}


@pytest.mark.feature("A6")
def test_a6_an_archived_memory_comes_back_by_its_name(here: Installation) -> None:
    texts = fill(here, count=5)
    here.wellkept("admin", "maintain")
    archived = here.wellkept("list", "--archived", "--json").json["items"]
    named = {item["content"]: item["short"] for item in archived}
    assert set(named) == {*texts[:2]}
    here.wellkept("bulk", "restore", named[texts[0]], "--yes")
    assert contents(here, "--archived") == {texts[1]}
    here.wellkept("edit", "--action", "restore", "--where", "{}", "--yes")
    assert contents(here, "--archived") == set()
