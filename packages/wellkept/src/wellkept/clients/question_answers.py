"""Read a person's answers to the questions of an agent, from the tool that asked them.

Clients name the tool differently, but all take a list of questions with options. The answers come
as an object (by question, id or position) or in one sentence. Invariant: nothing raises; a question
without an answer gives none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from wellkept.clients.payload_fields import Fields, as_fields, items, nested, text
from wellkept.core.session.events import Answer

ASKING_TOOLS: Final = frozenset(
    "askuserquestion ask_user_question ask_user askuser ask_question askquestion ask_questions"
    " ask_followup_question question request_user_input user_input".split()
)
_SAID = re.compile(
    r'"(?P<question>(?:[^"\\]|\\.|"(?!=))+)"="(?P<answer>.*?)"(?=, "|[.]|\s+user notes|\Z)',
    re.DOTALL,
)
_NOTE: Final = "user_note: "
_UNANSWERED: Final = ("unanswered", "(no answer provided)")


def asks(tool: str) -> bool:
    """Whether a tool asks the person something."""
    return tool.casefold() in ASKING_TOOLS


def read_answers(tool_input: Fields, output: str) -> tuple[Answer, ...]:
    """The answers to the questions in an input; `output` is the tool's result as text or JSON."""
    questions = [as_fields(one) for one in items(tool_input, "questions")]
    if not questions and text(tool_input, "question"):
        questions = [tool_input]
    given = nested(as_fields(output), "answers") or nested(tool_input, "answers")
    spoken = {} if given else dict(_in_sentence(output))
    found: list[Answer] = []
    for number, question in enumerate(questions):
        asked = text(question, "question")
        raw = next(
            (given[key] for key in (asked, text(question, "id"), str(number)) if key in given), None
        )
        answer = _as_text(raw) or spoken.get(asked, "")
        if not answer and len(questions) == 1 and not given and not spoken:
            answer = _only_answer(output)
        if asked and answer and answer.casefold() not in _UNANSWERED:
            found.append(_answer(question, asked, answer))
    return tuple(found)


def _answer(question: Fields, asked: str, answer: str) -> Answer:
    """With the meaning of the chosen options; an answer that is no option is the person's own."""
    meanings: list[str] = []
    left = answer
    for option in map(as_fields, items(question, "options")):
        label = text(option, "label", "value", "title")
        if label and label in left:
            left = left.replace(label, "", 1)
            meanings.append(text(option, "description"))
    is_choice = bool(meanings) and not left.strip(" ,;")
    meaning = meanings[0] if is_choice and len(meanings) == 1 else ""
    topic = text(question, "header")
    return Answer(asked, answer.strip(), is_choice=is_choice, meaning=meaning, topic=topic)


def _as_text(raw: object) -> str:
    """An answer as text: a string, a list of labels, or an object that holds one of these."""
    if isinstance(raw, str):
        return text({"it": raw}, "it").strip()
    several = items({"it": raw}, "it")
    if several:
        return ", ".join(part for one in several if (part := _as_text(one)))
    fields = as_fields(raw)
    inside = next(
        (fields[name] for name in ("answers", "answer", "value", "label") if name in fields), None
    )
    return "" if inside is None else _as_text(inside).replace(_NOTE, "")


def _in_sentence(output: str) -> Iterator[tuple[str, str]]:
    """Pairs in `"question"="answer"` form."""
    for pair in _SAID.finditer(output[:40_000]):
        yield pair["question"], pair["answer"].strip()


def _only_answer(output: str) -> str:
    """A short plain result is the answer itself; anything longer is a report of the tool."""
    plain = output.strip()
    is_report = "\n" in plain or plain.startswith(("{", "[", "<", '"')) or len(plain) > 400
    return "" if is_report or plain.startswith("User ") else plain
