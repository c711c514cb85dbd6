"""Stand-ins for LongMemEval, in its official format, for want of the real questions.

    python -m bench.longmemeval_standin --out FILE [--chats FILE]      # written for this purpose
    python -m bench.longmemeval_standin --out FILE --locomo FILE       # made of LoCoMo

Neither is LongMemEval and no figure from them is a figure of it: they show how recall behaves on
that form (one person, an assistant who answers at length, about 48 sessions a haystack, evidence
in one to four of them). Then run `python -m bench.longmemeval --data FILE`.

The written one hides `data/longmemeval/questions.toml` in chats put together from `themes.toml`;
the evidence of other questions makes half of the haystack, so that every session looks alike.
`--chats` is a list of {instruction, output} objects (as alpaca_eval publishes them) for the other
half. The one made of LoCoMo asks about one speaker as "I": that speaker becomes the user, the
other one the assistant, and sessions of other conversations fill up the haystack.
The same options always give the same file.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import groupby
from pathlib import Path
from random import Random
from typing import Any

from bench.locomo_data import Conversation, Question, Turn, load
from bench.report import parser, say

SESSIONS = 48
FOLDER = Path(__file__).parent / "data" / "longmemeval"
ASKED_AT = datetime(2023, 6, 15, 18, 30, tzinfo=UTC)
_FURTHEST_DAYS = 120
_TURNS = (4, 6)
_CHAT_TURNS = (3, 6)
_ADVICE = (6, 10)
_INTROS = (
    "Happy to help! Here are some thoughts:",
    "Great question. A few things to consider:",
    "That sounds like a good plan. You could keep these points in mind:",
    "Of course! Let me go through what usually matters:",
)
_CLOSINGS = (
    "Let me know if you would like more detail on any of these.",
    "I hope this helps! Is there anything else you would like to know?",
    "Tell me a bit more about what you have in mind and I can be more specific.",
)
_IN_PASSING = ("{ask} By the way, {says}", "{says} {ask}", "{ask} {says}")
_SAID_BACK = {
    "I": "you",
    "I'm": "you're",
    "I've": "you've",
    "My": "your",
    "my": "your",
    "me": "you",
}

Session = list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Placed:
    """A session in a haystack: when it took place, and whether it holds an answer."""

    at: datetime
    turns: Session
    answers: bool = False


def _entry(
    number: int, kind: str, question: str, asked_at: datetime, placed: Sequence[Placed]
) -> dict[str, Any]:
    """One question in the official format."""
    ordered = sorted(placed, key=lambda session: session.at)
    ids = [f"{'answer_' if s.answers else 'chat_'}{number}_{i}" for i, s in enumerate(ordered)]
    return {
        "question_id": f"standin_{number}",
        "question_type": kind,
        "question": question,
        "answer": "",
        "question_date": _stated(asked_at),
        "haystack_session_ids": ids,
        "haystack_dates": [_stated(s.at) for s in ordered],
        "haystack_sessions": [s.turns for s in ordered],
        "answer_session_ids": [i for i, s in zip(ids, ordered, strict=True) if s.answers],
    }


def _stated(at: datetime) -> str:
    return f"{at:%Y/%m/%d (%a) %H:%M}"


# -- Written ---------------------------------------------------------------------------------------


class Written:
    """Haystacks put together from the themes and questions written for this purpose."""

    def __init__(self, chats: Sequence[dict[str, str]]) -> None:
        self._themes = tomllib.loads((FOLDER / "themes.toml").read_text("utf-8"))
        by_kind = tomllib.loads((FOLDER / "questions.toml").read_text("utf-8"))
        self._questions = [(kind, each) for kind, asked in by_kind.items() for each in asked]
        self._chats = chats

    def entries(self) -> Iterator[dict[str, Any]]:
        """Every question with its haystack."""
        for number, (kind, question) in enumerate(self._questions):
            random = Random(number)
            placed = [self._evidence(e, random) for e in question["evidence"]]
            placed += self._others(number, SESSIONS // 2, random)
            placed += [
                Placed(_some_day(random), self._chat(random)) for _ in range(SESSIONS - len(placed))
            ]
            for name, form in (("ask", "other words"), ("ask_alike", "like words")):
                yield _entry(number, f"{kind}, {form}", question[name], ASKED_AT, placed)

    def _evidence(self, evidence: dict[str, Any], random: Random) -> Placed:
        at = ASKED_AT - timedelta(days=evidence["days"], minutes=random.randrange(480))
        return Placed(at, self._session(evidence, random, answers=True), answers=True)

    def _others(self, number: int, count: int, random: Random) -> list[Placed]:
        others = [
            evidence
            for other, (_, question) in enumerate(self._questions)
            for evidence in question["evidence"]
            if other != number
        ]
        chosen = random.sample(others, count)
        return [Placed(_some_day(random), self._session(each, random)) for each in chosen]

    def _session(
        self, evidence: dict[str, Any], random: Random, *, answers: bool = False
    ) -> Session:
        """A chat on the theme of a piece of evidence, which comes up in one of its turns."""
        theme = self._themes[evidence["theme"]]
        asks: list[str] = random.sample(theme["asks"], random.randrange(*_TURNS))
        place = random.randrange(len(asks))
        turns: Session = []
        for number, ask in enumerate(asks):
            said, echo, answered = ask, "", None
            if number == place and "says" in evidence:
                said = random.choice(_IN_PASSING).format(ask=ask, says=evidence["says"])
                echo = f"Thanks for telling me that {_echoed(evidence['says'])} "
            elif number == place:
                said, answered = evidence["asks"], evidence["answers"]
            reply = echo + _reply(theme, answered, random)
            turns.append({"role": "user", "content": said})
            turns.append({"role": "assistant", "content": reply})
            if number == place and answers:
                turns[-1 if answered else -2]["has_answer"] = True
        return turns

    def _chat(self, random: Random) -> Session:
        if not self._chats:
            theme = self._themes[random.choice(sorted(self._themes))]
            asks: list[str] = random.sample(theme["asks"], random.randrange(*_TURNS))
            pairs = [(ask, _reply(theme, None, random)) for ask in asks]
        else:
            count = random.randrange(*_CHAT_TURNS)
            start = random.randrange(len(self._chats) - count)
            chosen = self._chats[start : start + count]
            pairs = [(each["instruction"], each["output"]) for each in chosen]
        return [
            {"role": role, "content": text}
            for pair in pairs
            for role, text in zip(("user", "assistant"), pair, strict=True)
        ]


def _echoed(text: str) -> str:
    """What was said, said back."""
    return re.sub(rf"\b({'|'.join(_SAID_BACK)})\b", lambda found: _SAID_BACK[found[1]], text)


def _reply(theme: dict[str, list[str]], answer: str | None, random: Random) -> str:
    items = random.sample(theme["advice"], random.randrange(*_ADVICE))
    if answer is not None:
        items.insert(random.randrange(len(items)), answer)
    listed = "\n".join(f"{number}. {item}" for number, item in enumerate(items, start=1))
    return f"{random.choice(_INTROS)}\n\n{listed}\n\n{random.choice(_CLOSINGS)}"


def _some_day(random: Random) -> datetime:
    return ASKED_AT - timedelta(
        days=random.randrange(2, _FURTHEST_DAYS), minutes=random.randrange(480)
    )


# -- Made of LoCoMo --------------------------------------------------------------------------------

_PRONOUNS = {
    "she": "I",
    "he": "I",
    "her": "my",
    "his": "my",
    "herself": "myself",
    "himself": "myself",
}
_AGREES = {"does": "do", "is": "am", "has": "have", "doesn't": "don't", "isn't": "am not"}


def from_locomo(conversations: Sequence[Conversation], *, every: int) -> Iterator[dict[str, Any]]:
    """Every n-th question about exactly one speaker, asked by that speaker."""
    asked = [
        (conversation, question, speaker)
        for conversation in conversations
        for question in conversation.questions
        if (speaker := _speaker_of(conversation, question)) is not None
    ]
    for number, (conversation, question, speaker) in enumerate(asked[::every]):
        random = Random(number)
        placed = [
            Placed(turns[0].at, _as_chat(turns, speaker), _holds(turns, question))
            for turns in _sessions(conversation)
        ]
        others = [each for each in conversations if each is not conversation]
        strangers = [turns for other in others for turns in _sessions(other)]
        room = min(len(strangers), max(0, SESSIONS - len(placed)))
        for turns in random.sample(strangers, room):
            placed.append(Placed(turns[0].at, _as_chat(turns, turns[0].speaker)))
        asked_at = max(session.at for session in placed) + timedelta(days=1)
        kind = "multi-session" if sum(s.answers for s in placed) > 1 else "single-session"
        yield _entry(number, kind, own_words(question.text, speaker), asked_at, placed)


def _speaker_of(conversation: Conversation, question: Question) -> str | None:
    speakers = {turn.speaker for turn in conversation.turns}
    named = [s for s in speakers if re.search(rf"\b{s}\b", question.text)]
    return named[0] if len(named) == 1 else None


def own_words(question: str, speaker: str) -> str:
    """A question about a speaker as that speaker would ask it."""
    text = re.sub(rf"\b{speaker}['’]s\b", "my", question)
    verbs = "|".join(_AGREES)
    text = re.sub(
        rf"\b({verbs}) {speaker}\b",
        lambda found: f"{_AGREES[found[1].lower()]} I",
        text,
        flags=re.I,
    )
    text = re.sub(
        rf"\b{speaker} ({verbs})\b",
        lambda found: f"I {_AGREES[found[1].lower()]}",
        text,
        flags=re.I,
    )
    text = re.sub(rf"\b{speaker}\b", "I", text)
    text = re.sub(rf"\b({'|'.join(_PRONOUNS)})\b", lambda found: _PRONOUNS[found[1]], text)
    return text[0].upper() + text[1:]


def _sessions(conversation: Conversation) -> list[list[Turn]]:
    return [list(turns) for _, turns in groupby(conversation.turns, key=lambda turn: turn.session)]


def _as_chat(turns: Sequence[Turn], speaker: str) -> Session:
    return [
        {"role": "user" if turn.speaker == speaker else "assistant", "content": turn.text}
        for turn in turns
    ]


def _holds(turns: Sequence[Turn], question: Question) -> bool:
    return any(turn.id in question.evidence for turn in turns)


def main() -> None:
    """Write a stand-in."""
    options = parser(__doc__)
    options.add_argument("--out", type=Path, required=True, help="where to write the questions")
    options.add_argument("--chats", type=Path, help="chats to fill the haystacks with")
    options.add_argument("--locomo", type=Path, help="make it of this LoCoMo file instead")
    options.add_argument("--every", type=int, default=3, help="every n-th question of LoCoMo")
    asked = options.parse_args()
    if asked.locomo is not None:
        entries = list(from_locomo(load(asked.locomo), every=asked.every))
    else:
        chats = asked.chats.read_text("utf-8") if asked.chats else "[]"
        entries = list(Written(json.loads(chats)).entries())
    asked.out.write_text(json.dumps(entries, ensure_ascii=False), "utf-8")
    say(f"{len(entries)} questions in {asked.out}")


if __name__ == "__main__":
    main()
