"""What a person says in a session becomes a rule, through hooks and through transcripts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.observe.spooling import Spooler
from tests.observe.telling import START, Teller, world
from tests.observe.test_drain import drained
from wellkept.clients.hook_spec import ClientFolders
from wellkept.clients.transcripts import claude_code
from wellkept.core.chat.transcripts import Transcript
from wellkept.core.memory import Memory
from wellkept.core.query import Filter, Validity
from wellkept.core.session.events import Answer, ToolCalled, ToolKind
from wellkept.core.types import MemoryType, Source
from wellkept.memory.engine import Engine
from wellkept.observe.imports.transcripts import TranscriptReport, take_transcript
from wellkept.observe.ingest.ingest import EventIngester

pytestmark = pytest.mark.feature("C1")
QUESTION = "How should money be stored?"


def taught(engine: Engine) -> list[Memory]:
    where = Filter(project=None, sources=(Source.USER_TAUGHT,), validity=Validity.OPEN)
    return list(engine.store.iterate(where))


def asked(say: Teller, answer: Answer, *, agent: str | None = None) -> ToolCalled:
    return say.call("AskUserQuestion", ToolKind.OTHER, answers=(answer,), agent=agent)


def test_a_correction_is_kept_with_its_words_and_time(engine: Engine, spooler: Spooler) -> None:
    say = Teller()
    spooler.catch(say.prompt("no, links go to the docs host, not the API host. Please fix it"))
    drained(engine, spooler)
    (rule,) = taught(engine)
    assert rule.content == "links go to the docs host, not the API host"
    assert rule.type is MemoryType.CORRECTION
    assert rule.valid_from > START
    assert "Please fix it" in (rule.evidence[0].note or "")


def test_an_answer_is_a_decision_unless_a_sub_agent_got_it(
    engine: Engine, spooler: Spooler
) -> None:
    say = Teller()
    chosen = Answer(QUESTION, "Cents", is_choice=True, meaning="Whole numbers")
    spooler.catch(asked(say, chosen, agent="helper"))
    drained(engine, spooler)
    assert taught(engine) == []
    spooler.catch(asked(say, chosen))
    drained(engine, spooler)
    (decision,) = taught(engine)
    assert decision.content == f"{QUESTION} Cents (Whole numbers)"


@pytest.mark.feature("A8")
def test_scrap_that_closes_what_the_message_before_taught(engine: Engine, spooler: Spooler) -> None:
    say = Teller()
    spooler.catch(say.prompt("We don't use Redux here."), say.prompt("We never squash here."))
    spooler.catch(say.prompt("scrap that"))
    drained(engine, spooler)
    assert [m.content for m in taught(engine)] == ["We don't use Redux here"]


@pytest.mark.feature("A8")
@pytest.mark.parametrize("apart", [False, True])
def test_scrap_that_is_not_about_a_rule_of_long_ago(
    engine: Engine, spooler: Spooler, *, apart: bool
) -> None:
    say = Teller()
    for text in ("We never squash here.", "Show me a.py", "Make it red", "scrap that"):
        spooler.catch(say.prompt(text))
        if apart:
            drained(engine, spooler)
    drained(engine, spooler)
    assert [m.content for m in taught(engine)] == ["We never squash here"]


@pytest.mark.parametrize(
    "text",
    [
        '<teammate-message teammate_id="lead">We never squash here.</teammate-message>',
        "<system-reminder>We never squash here.</system-reminder>",
        "<task-notification>We never squash here.</task-notification>",
        "<command-message>x</command-message><command-name>/x</command-name>",
        "Stop hook feedback: we never squash here",
    ],
)
def test_what_others_say_is_no_rule(engine: Engine, spooler: Spooler, text: str) -> None:
    spooler.catch(Teller().prompt(text))
    drained(engine, spooler)
    assert list(engine.store.iterate(Filter(project=None))) == []


def test_arguments_of_a_slash_command_are_the_persons_words(
    engine: Engine, spooler: Spooler
) -> None:
    args = "<command-args>add it. we never squash here</command-args>"
    spooler.catch(Teller().prompt(f"<command-name>/do</command-name>{args}"))
    drained(engine, spooler)
    assert [m.content for m in taught(engine)] == ["we never squash here"]


def record(uuid: str, kind: str, content: object, **more: object) -> str:
    return json.dumps(
        {
            "type": kind,
            "uuid": uuid,
            "sessionId": "5f0b9d3e-0000-4000-8000-000000000001",
            "timestamp": f"2026-01-01T00:00:0{uuid}Z",
            "cwd": "/home/dev/shop",
            "message": {"role": kind, "content": content},
            **more,
        }
    )


def test_a_transcript_teaches_the_same(engine: Engine, tmp_path: Path) -> None:
    options = [{"label": "Cents", "description": "Whole numbers"}, {"label": "Euros"}]
    questions = [{"question": QUESTION, "options": options}]
    use = {"type": "tool_use", "id": "t", "name": "AskUserQuestion"}
    lines = [
        record("1", "user", "no, links go to the docs host, not the API host"),
        record("2", "assistant", [{**use, "input": {"questions": questions}}]),
        record(
            "3",
            "user",
            [{"type": "tool_result", "tool_use_id": "t", "content": "answered"}],
            toolUseResult={"questions": questions, "answers": {QUESTION: "Cents"}},
        ),
        record("4", "user", "We don't use Redux here."),
        record("5", "user", "scrap that rule"),
    ]
    file = tmp_path / "session.jsonl"
    file.write_text("\n".join(lines) + "\n")
    folders = ClientFolders(home=tmp_path, project=tmp_path, environment={})
    for one in claude_code.transcripts([file], folders=folders):
        assert isinstance(one, Transcript)
        take_transcript(
            EventIngester(engine, world(), commands="remember"),
            one,
            TranscriptReport(source="claude-code"),
            is_quiet=True,
        )
    assert sorted(m.content for m in taught(engine)) == [
        f"{QUESTION} Cents (Whole numbers)",
        "links go to the docs host, not the API host",
    ]


def test_a_prompt_that_tells_nothing_is_kept_but_not_listed(
    engine: Engine, spooler: Spooler
) -> None:
    say = Teller()
    spooler.catch(say.prompt("Fix the login bug"), say.prompt("yes"))
    drained(engine, spooler)
    listed = engine.store.list(Filter(project=None, types=(MemoryType.PROMPT,))).items
    assert [m.content for m in listed] == ["Fix the login bug"]
    every = engine.store.list(Filter(project=None, types=(MemoryType.PROMPT,), archived=None)).items
    assert {m.content for m in every} == {"Fix the login bug", "yes"}


def test_a_correction_without_a_subject_names_what_it_corrects(
    engine: Engine, spooler: Spooler
) -> None:
    say = Teller()
    spooler.catch(
        say.prompt("Call the orders service"),
        say.turn_end("Done. The client calls /v1/orders. Anything else?"),
        say.prompt("that's wrong, it's the v2 endpoint"),
    )
    drained(engine, spooler)
    (rule,) = taught(engine)
    assert rule.content == 'it\'s the v2 endpoint (about: "The client calls /v1/orders.")'


def test_a_decision_in_a_pasted_plan_is_not_the_persons(engine: Engine, spooler: Spooler) -> None:
    plan = "Implement the following plan:\n\n# Plan\n\nWe decided to use Redis because it is fast."
    spooler.catch(Teller().prompt(plan))
    drained(engine, spooler)
    found = engine.store.list(Filter(project=None, types=(MemoryType.OBSERVATION,))).items
    assert list(found) == []
