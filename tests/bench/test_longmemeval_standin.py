"""The stand-ins for LongMemEval: its format, the evidence where it should be, always the same."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bench import longmemeval
from bench.locomo_data import Conversation, Question, Turn
from bench.longmemeval_standin import SESSIONS, Written, from_locomo, own_words

pytestmark = pytest.mark.feature("B2")

CHATS = [{"instruction": f"ask {n}", "output": f"answer {n}"} for n in range(20)]
DAY_ONE = datetime(2023, 5, 1, 9, tzinfo=UTC)


def test_every_written_question_has_its_evidence_in_a_haystack_of_the_usual_size() -> None:
    entries = list(Written(CHATS).entries())
    assert len(entries) == 180
    for entry in entries:
        assert len(entry["haystack_sessions"]) == SESSIONS
        assert 1 <= len(entry["answer_session_ids"]) <= 4
        assert sorted(entry["haystack_dates"]) == entry["haystack_dates"]


def test_the_same_options_give_the_same_questions() -> None:
    assert list(Written([]).entries()) == list(Written([]).entries())


def test_a_written_stand_in_is_read_as_the_benchmark_itself_is(tmp_path: Path) -> None:
    path = tmp_path / "standin.json"
    path.write_text(json.dumps([next(Written(CHATS).entries())]), "utf-8")
    (question,) = longmemeval.load(path)
    assert question.kind == "single-session-user, other words"
    (wanted,) = question.wanted
    told = " ".join(t.draft.content for t in question.turns if t.session == wanted)
    assert "Frisian" in told


@pytest.mark.parametrize(
    ("asked", "own"),
    [
        ("What is Mara's job?", "What is my job?"),
        ("Where does Mara keep her boat?", "Where do I keep my boat?"),
        ("Has Mara seen it herself?", "Have I seen it myself?"),
        ("Mara is fond of what?", "I am fond of what?"),
    ],
)
def test_a_question_about_a_speaker_becomes_the_speakers_own(asked: str, own: str) -> None:
    assert own_words(asked, "Mara") == own


def _conversation(name: str, speakers: tuple[str, str], question: str) -> Conversation:
    turns = tuple(
        Turn(
            f"{name}:{session}:{seq}",
            f"session-{session}",
            seq,
            speakers[seq % 2],
            f"{name} text {session} {seq}",
            DAY_ONE + timedelta(days=session),
        )
        for session in range(4)
        for seq in range(3)
    )
    evidence = frozenset({f"{name}:1:0", f"{name}:3:2"})
    return Conversation(name, turns, (Question(question, evidence, 1),))


def test_locomo_becomes_the_chats_of_the_person_who_is_asked_about() -> None:
    about_both = _conversation("b", ("Ola", "Kim"), "What do Ola and Kim like?")
    about_one = _conversation("a", ("Mara", "Ivo"), "What did Mara buy?")
    (entry,) = from_locomo([about_one, about_both], every=1)
    assert entry["question"] == "What did I buy?"
    assert entry["question_type"] == "multi-session"
    assert len(entry["answer_session_ids"]) == 2
    assert len(entry["haystack_sessions"]) == 8
    roles = {t["content"]: t["role"] for s in entry["haystack_sessions"] for t in s}
    assert (roles["a text 0 0"], roles["a text 0 1"]) == ("user", "assistant")
