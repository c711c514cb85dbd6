"""The log of injected lines from the command line."""

from __future__ import annotations

import os

import pytest

import wellkept
from tests.app.test_injected import given
from tests.cli.conftest import Cli
from tests.support.samples import START
from wellkept.core.changes import PutSession
from wellkept.core.ports.injections import LineOutcome
from wellkept.core.session.sessions import SessionRecord

pytestmark = pytest.mark.feature("C11", "A12")


@pytest.fixture
def short(cli: Cli) -> str:
    """A memory that was given twice: used, then ignored."""
    kept = cli("remember", "The gateway times out", "--source", "agent_explicit", "--json")
    name = str(kept.json["memory"]["short"])
    with wellkept.open(project=os.environ["WELLKEPT_PROJECT"], embedder="none") as wk:
        given(wk, wk.get(name), 1, outcome=LineOutcome.USED)
        given(wk, wk.get(name), 2, outcome=LineOutcome.IGNORED)
    return name


def test_injected_lists_lines_with_their_outcome(cli: Cli, short: str) -> None:
    listed = cli("injected")
    assert listed.code == 0
    assert f"used (cited)  - [WARN] The gateway times out [m:{short}]" in listed.out
    assert "session session-2" in listed.out
    page = cli("injected", "--memory", short, "--limit", "1", "--json").json
    assert (page["total"], len(page["items"])) == (2, 1)
    rest = cli("injected", "--memory", short, "--cursor", page["next_cursor"], "--json").json
    assert [one["id"] for one in rest["items"]] == ["i1"]
    assert cli("injected", "--outcome", "ignored", "--json").json["total"] == 1
    assert cli("injected", "--session", "nobody").code == 3
    assert cli("injected", "--cursor", "x").code == 2
    assert cli("injected", "--moment", "never").code == 2


def test_injected_says_so_when_there_is_nothing(cli: Cli) -> None:
    assert "Nothing was injected yet" in cli("injected").err
    assert cli("injected", "--json").json["items"] == []
    assert "No line is silent" in cli("injected", "--silent").err


def test_why_and_show_answer_whether_it_was_ever_of_use(cli: Cli, short: str) -> None:
    why = cli("why", short).out
    assert "2 times in 2 sessions: used in 1, ignored in 1" in why
    assert "tokens saved: 960. Estimate" in why
    assert cli("why", short, "--json").json["use"]["use"]["used"] == 1
    assert "used in 1, ignored in 1" in cli("show", short).out
    assert cli("show", short, "--json").json["items"][0]["use"]["use"]["given"] == 2


@pytest.mark.feature("H6")
def test_flag_silences_and_edit_lets_it_speak_again(cli: Cli, short: str) -> None:
    assert cli("flag", short, "--reason", "it is five").code == 0
    silent = cli("injected", "--silent", "--json").json["silent"]
    assert silent[0]["reason"] == "harm: flagged: it is five"
    assert "flagged" in cli("injected", "--silent").out
    assert cli("show", short, "--json").json["items"][0]["memory"]["needs_review"] is True
    assert cli("edit", short, "--verify", "--reviewed").code == 0
    assert cli("injected", "--silent", "--json").json["silent"] == []
    assert cli("flag", "nothing").code == 3


def test_stats_count_what_was_given(cli: Cli, short: str) -> None:
    assert short
    told = cli("stats", "--json").json["injected"]
    assert (told["lines"], told["used"], told["used_share"]) == (4, 1, 0.5)
    assert told["saved_tokens"] == 940
    shown = cli("stats")
    assert "used 1 of 2" in shown.err
    assert "Tokens saved: 940. Estimate" in shown.err


def test_a_session_shows_the_tokens_that_its_client_reported(cli: Cli) -> None:
    cli("remember", "anything")
    with wellkept.open(project=os.environ["WELLKEPT_PROJECT"], embedder="none") as wk:
        for name, tokens in (("told-tokens", 1_200), ("told-nothing", None)):
            session = SessionRecord(
                id=name,
                client="codex",
                project=wk.project,
                started_at=START,
                last_event_at=START,
                input_tokens=tokens,
                cached_tokens=tokens,
                output_tokens=tokens,
            )
            wk.engine.store.apply([PutSession(session)])
    assert "1,200 in (+ 1,200 from the cache), 1,200 out" in cli("sessions", "show", "told-t").out
    assert "tokens" not in cli("sessions", "show", "told-n").out
    told = cli("sessions", "show", "told-n", "--json").json["session"]
    assert told["output_tokens"] is None
