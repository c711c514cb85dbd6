"""What real browser servers answered, recorded, on its way from the hooks to what is known.

The recordings are made by `tests/running_clients/record_browsers.py`; each call comes as Claude Code
hands it to a hook.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import wellkept
from tests.app.git_repositories import GitRepository
from tests.app.working import Desk
from wellkept.core.memory import Memory
from wellkept.core.payloads import E2EObservation

pytestmark = pytest.mark.feature("D8")

RECORDED: dict[str, dict[str, Any]] = json.loads(
    Path(__file__).with_name("browsers.json").read_text("utf-8")
)
TYPED = "tiger-lily"


def qa(desk: Desk, wk: wellkept.Wellkept, name: str, server: str, *flows: str) -> None:
    """A session that plays recorded flows; what it showed is learned at its end."""
    worker = desk.session(name)
    worker.prompt("QA the shop in the browser")
    number = 0
    for flow in flows:
        for call in RECORDED[server][flow]:
            number += 1
            told = {
                "tool_name": f"mcp__{server}__{call['tool']}",
                "tool_input": call["input"],
                "tool_use_id": f"{name}-{number}",
                "duration_ms": call["ms"],
            }
            if call["failed"]:
                worker.catch("PostToolUseFailure", **told, error="\n".join(call["answer"]))
            else:
                blocks = [{"type": "text", "text": text} for text in call["answer"]]
                worker.catch("PostToolUse", **told, tool_response=blocks)
    worker.turn("Done.")
    worker.end()
    assert not desk.drain(wk).problems
    assert wk.observer.learn([name]).problems == ()


def kind_of(memory: Memory) -> str:
    assert isinstance(memory.payload, E2EObservation)
    return memory.payload.observation_type


def known(wk: wellkept.Wellkept) -> dict[str, Memory]:
    return {memory.content: memory for memory in wk.list(types="e2e_observation", limit=100).items}


SETTINGS = {
    "Opening /settings leads to /login: it needs a login first.": "precondition",
    "Before click `Save changes` on /settings works: click `I agree to the terms`.": "precondition",
    'Click `Delete account` on /settings opens a dialog: "Delete the account for ever?".': (
        "ui_behavior"
    ),
}
WAITING = {
    "Click `Download report` takes a moment to work after click `Generate report`: wait for it.": (
        "timing"
    ),
    'The page /import says: "Please connect a warehouse in the settings first".': "precondition",
    "The application must be running before it can be opened.": "precondition",
}
ONLY_PLAYWRIGHT = {
    "Type `Account number` on /settings: the element cannot be edited;"
    " that is how it behaves there.": "ui_behavior",
    'To get to "Settings - Little Shop": open /settings, then fill form `Email`, `Password`,'
    " then click `Sign in`.": "test_sequence",
    'To get to "Order created - Little Shop": open /orders, then click `New order`,'
    " then type `Item`, then select `Size`, then click `Create order`.": "test_sequence",
    "`Edit` fits several elements on /orders: name one of them more exactly.": "mcp_gotcha",
    "`browser_click` fails while a dialog is open: answer the dialog first.": "mcp_gotcha",
    "`browser_click` fails with a reference from an old snapshot: take a new one once the page"
    " has changed.": "mcp_gotcha",
    "`browser_press_key` knows keys by their own names only, such as Enter or ArrowLeft.": (
        "mcp_gotcha"
    ),
    "Click `Send question` takes a moment to work after open /help: wait for it.": "timing",
    "After open /help wait for `One moment` to go: it takes a moment.": "timing",
}
ONLY_DEVTOOLS = {
    "`click` fails with a reference from an old snapshot: take a new one once the page"
    " has changed.": "mcp_gotcha",
    "`press_key` knows keys by their own names only, such as Enter or ArrowLeft.": "mcp_gotcha",
    "`navigate_page` fails once its page or browser is closed: open it again.": "mcp_gotcha",
}


ELECTRON = {
    'To get to "/settings": fill `Email`, then fill `Password`, then click `Sign in`.': (
        "test_sequence"
    ),
    'To get to "Settings - Little Shop": fill `Email`, then fill `Password`, then click `Sign in`,'
    " then click `I agree to the terms`, then click `Save changes`,"
    " then send keyboard shortcut `Ctrl+N`.": "test_sequence",
    "`click_by_text` fails when it comes too soon after the same click: wait in between.": (
        "mcp_gotcha"
    ),
}


@pytest.mark.parametrize(
    ("server", "flows", "expected"),
    [
        ("playwright", ("settings", "orders", "waiting"), SETTINGS | WAITING | ONLY_PLAYWRIGHT),
        ("chrome-devtools", ("settings", "waiting"), SETTINGS | WAITING | ONLY_DEVTOOLS),
        ("electron", ("signing in",), ELECTRON),
    ],
)
def test_a_recorded_session_shows_exactly_these_facts(
    tmp_path: Path, server: str, flows: tuple[str, ...], expected: dict[str, str]
) -> None:
    desk = Desk(tmp_path)
    with desk.open() as wk:
        qa(desk, wk, "one", server, *flows)
        assert {content: kind_of(memory) for content, memory in known(wk).items()} == expected
        assert {(m.confidence, m.needs_review) for m in known(wk).values()} == {(0.75, True)}


@pytest.mark.feature("A10")
def test_nothing_that_was_typed_is_on_disk_afterwards(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    with desk.open() as wk:
        qa(desk, wk, "one", "playwright", "settings", "orders")
        qa(desk, wk, "two", "chrome-devtools", "settings")
        qa(desk, wk, "three", "electron", "signing in")
    kept = [path for path in desk.home.rglob("*") if path.is_file()]
    assert kept
    assert [path.name for path in kept if TYPED.encode() in path.read_bytes()] == []


@pytest.mark.feature("D10")
def test_what_two_servers_showed_is_confirmed_and_told_when_qa_begins(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    with desk.open() as wk:
        qa(desk, wk, "one", "playwright", "settings")
        assert wk.context("QA the settings page").items == ()
        qa(desk, wk, "two", "chrome-devtools", "settings")
        assert all(known(wk)[content].confidence == 0.9 for content in SETTINGS)
        told = {item.memory.content for item in wk.context("QA the settings page").items}
        assert set(SETTINGS) <= told


@pytest.mark.feature("E3")
def test_a_fact_is_tied_to_the_file_its_page_comes_from(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    repository = GitRepository.create(desk.work)
    repository.write("app/settings/page.tsx", "export default function Settings() {}\n")
    repository.commit("Begin")
    with desk.open() as wk:
        qa(desk, wk, "one", "playwright", "settings", "waiting")
        tied = {content: memory.files for content, memory in known(wk).items()}
        assert all(tied[content] == ("app/settings/page.tsx",) for content in SETTINGS)
        assert all(tied[content] == () for content in WAITING)
