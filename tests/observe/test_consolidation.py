"""A model makes words better inside a budget; without it, or when it fails, nothing is lost."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.observe.spooling import Spooler, translate
from tests.observe.telling import ROOT, Teller, world
from wellkept.core.errors import ProviderError
from wellkept.core.memory import Memory
from wellkept.core.payloads import Observation, SessionSummary
from wellkept.memory.engine import Engine, tokens_used_today
from wellkept.observe.ingest.drain import drain
from wellkept.observe.model.consolidation import archived_material, summarize_sessions
from wellkept.observe.model.session_summaries import rewordable, session_memories
from wellkept.observe.session.drafts import find_summary

pytestmark = pytest.mark.feature("C8", "C3")
GOOD = json.dumps({"request": "Discounts", "learned": "Codes half done.", "completed": "Codes."})


class ScriptedModel:
    """Answers with what it was given, in order; an error is raised."""

    def __init__(self, *answers: str | ProviderError) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []

    def complete(self, prompt: str, *, max_tokens: int) -> str:
        self.asked.append(prompt)
        answer = self.answers.pop(0) if self.answers else ProviderError("No more.")
        if isinstance(answer, ProviderError):
            raise answer
        return answer


Session = Callable[..., Memory]


@pytest.fixture
def say() -> Teller:
    return Teller()


def work(
    engine: Engine, spooler: Spooler, model: ScriptedModel, say: Teller, *, tokens: int = 100_000
) -> SessionSummary:
    """Another compaction, drained with a model at hand; returns the summary as it is then."""
    spooler.catch(say.prompt("Add discount codes"), say.compacted("Half done."))
    engine = replace(engine, text_model=lambda: model)
    report = drain(engine, spooler.spool, translate=translate, environment=world())
    summarize_sessions(engine, report.due, daily_tokens=tokens)
    found = find_summary(engine, say.session_id, project="git:example.org/shop")
    assert found is not None
    assert isinstance(found.payload, SessionSummary)
    return found.payload


def test_a_model_writes_the_summary_when_there_is_one(
    engine: Engine, spooler: Spooler, say: Teller
) -> None:
    model = ScriptedModel(f"Here it is:\n```json\n{GOOD}\n```")
    summary = work(engine, spooler, model, say)
    assert (summary.made_by, summary.learned, summary.completed) == (
        "model", "Codes half done.", "Codes.",
    )  # fmt: skip
    assert "Add discount codes" in model.asked[0]
    assert "Half done." in model.asked[0]
    assert tokens_used_today(engine) > 700


def test_what_the_model_wrote_stays_until_the_next_trigger(
    engine: Engine, spooler: Spooler, say: Teller
) -> None:
    work(engine, spooler, ScriptedModel(GOOD), say)
    spooler.catch(say.turn_end("A turn."))
    drain(engine, spooler.spool, translate=translate, environment=world())
    found = find_summary(engine, say.session_id, project="git:example.org/shop")
    assert found is not None
    assert "Codes half done." in found.content
    spooler.catch(say.end())
    drain(engine, spooler.spool, translate=translate, environment=world())
    found = find_summary(engine, say.session_id, project="git:example.org/shop")
    assert found is not None
    assert isinstance(found.payload, SessionSummary)
    assert found.payload.made_by == "rules"


@pytest.mark.parametrize(
    "answer", [ProviderError("down"), "no JSON here", "{}", "[1, 2]", '{"a": 1}']
)
def test_the_summary_by_rule_stands_when_the_model_fails(
    engine: Engine, spooler: Spooler, say: Teller, answer: str | ProviderError
) -> None:
    summary = work(engine, spooler, ScriptedModel(answer), say)
    assert (summary.made_by, summary.request) == ("rules", "Add discount codes")
    assert archived_material(engine) == {}


def test_after_three_failures_the_material_is_archived_and_taken_up_again_later(
    engine: Engine, spooler: Spooler, say: Teller
) -> None:
    down = ScriptedModel()
    for _ in range(3):
        work(engine, spooler, down, say)
    assert list(archived_material(engine)) == [say.session_id]
    assert "Add discount codes" in str(archived_material(engine)[say.session_id])
    other = Teller("session-two")
    work(engine, spooler, ScriptedModel(GOOD, GOOD), other)
    assert archived_material(engine) == {}
    found = find_summary(engine, say.session_id, project="git:example.org/shop")
    assert found is not None
    assert "Codes half done." in found.content


def test_the_daily_budget_is_kept(engine: Engine, spooler: Spooler, say: Teller) -> None:
    model = ScriptedModel(GOOD, GOOD, GOOD)
    assert work(engine, spooler, model, say, tokens=3_500).made_by == "model"
    work(engine, spooler, model, say, tokens=3_500)
    assert len(model.asked) == 1
    assert work(engine, spooler, model, say, tokens=0).made_by == "rules"
    assert tokens_used_today(engine) <= 3_500


def test_a_secret_in_a_models_answer_is_not_kept(
    engine: Engine, spooler: Spooler, say: Teller
) -> None:
    secret = "ghp_" + "a1B2c3D4e5" * 4
    say_it = ScriptedModel(json.dumps({"learned": f"Codes. Use {secret}", "request": secret}))
    summary = work(engine, spooler, say_it, say)
    assert (summary.made_by, summary.learned) == ("model", "Codes.")
    assert secret not in repr(summary)


def _seen(engine: Engine, say: Teller) -> list[Memory]:
    session = engine.store.get_session(say.session_id)
    assert session is not None
    return [
        row for row in session_memories(engine, session) if isinstance(row.payload, Observation)
    ]


def _edited(engine: Engine, spooler: Spooler, say: Teller) -> Memory:
    """The one observation of an edit, told by rule."""
    spooler.catch(
        say.prompt("Add discount codes"),
        say.edit(f"{ROOT}/shop/codes.py", "def use():\n    pass", "def use():\n    return 1"),
        say.turn_end("Done."),
        say.end(),
    )
    drain(engine, spooler.spool, translate=translate, environment=world())
    (seen,) = _seen(engine, say)
    return seen


def _retold(engine: Engine, say: Teller, seen: Memory, said: object) -> Memory:
    """The observation after a model said something of it."""
    model = ScriptedModel(json.dumps({"learned": "Codes.", "observations": {seen.short: said}}))
    with_model = replace(engine, text_model=lambda: model)
    assert summarize_sessions(with_model, [say.session_id], daily_tokens=100_000).written == 1
    assert seen.short in model.asked[0]
    (now,) = _seen(engine, say)
    return now


def test_a_model_rewords_observations_and_leaves_what_was_seen(
    engine: Engine, spooler: Spooler, say: Teller
) -> None:
    seen = _edited(engine, spooler, say)
    now = _retold(
        engine, say, seen, {"title": "Discount codes use " * 9, "narrative": "Codes. Invented."}
    )
    assert isinstance(seen.payload, Observation)
    assert isinstance(now.payload, Observation)
    assert now.payload == replace(seen.payload, title=now.payload.title, narrative="Codes.")
    assert now.payload.title.startswith("Discount codes use")
    assert len(now.payload.title) < 100
    assert now.content.startswith(now.payload.title)
    assert (now.id, now.files, now.evidence) == (seen.id, seen.files, seen.evidence)


@pytest.mark.parametrize(
    "said",
    [None, [], "better", {}, {"title": ""}, {"title": 7}, {"narrative": "<private>x</private>"}],
)
def test_what_a_model_says_without_sense_leaves_an_observation_as_it_is(
    engine: Engine, spooler: Spooler, say: Teller, said: object
) -> None:
    seen = _edited(engine, spooler, say)
    assert _retold(engine, say, seen, said) == seen


def test_a_secret_in_a_reworded_observation_is_not_kept(
    engine: Engine, spooler: Spooler, say: Teller
) -> None:
    secret = "ghp_" + "a1B2c3D4e5" * 4
    seen = _edited(engine, spooler, say)
    now = _retold(engine, say, seen, {"title": f"Use {secret}", "narrative": f"It is {secret}"})
    assert secret not in repr(now)


def test_what_a_person_stands_behind_is_not_reworded(
    engine: Engine, spooler: Spooler, say: Teller
) -> None:
    seen = _edited(engine, spooler, say)
    assert rewordable([seen, replace(seen, user_verified=True), replace(seen, pinned=True)]) == [
        seen
    ]
