"""Judges whether a session succeeded, by rule, from its stored history.

The first rule that applies decides:
1. the user said that it does not work, and no test, commit or thanks followed: failure;
2. the edits were reverted, or the last commit is gone: failure;
3. tests or checks failed and no run at least as wide passed later, or the very last command failed:
   failure;
4. tests or checks passed after the last edit: success;
5. a commit was made and kept: success;
6. the user said that it works: success;
7. a command worked after the last edit and none was left failing: success;
8. otherwise unproven, which is not good enough to learn from.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Final

from wellkept.core.records import record
from wellkept.core.session.steps import SessionStep
from wellkept.skills.generation.procedure import SessionHistory, covers, effective_steps

_PROMPT_CHARS: Final = 600
_BAD: Final = re.compile(
    r"\b(?:(?:does|did|do|is|was)(?:n['’]?t| not) (?:work|fix|help|right|correct|what i)\w*"
    r"|still (?:fail|broken|wrong|not|crash|the same|get)\w*|not working|broke(?:n)? (?:it|the|now)"
    r"|(?:that|this|it)(?:['’]s| is) wrong|revert (?:that|this|it|the|your)|undo (?:that|this|it)"
    r"|roll (?:it |that )?back|funktioniert nicht|geht (?:immer noch )?nicht|immer noch kaputt"
    r"|no funciona|sigue fallando|ne (?:marche|fonctionne) pas|não funciona|не работает)\b"
    r"|動かない|動きません|直っていない|不行|不工作|没用|没有用|还是(?:失败|报错|不)|작동하지 않",
    re.IGNORECASE,
)
_GOOD: Final = re.compile(
    r"\b(?:(?:that |it |this |now |all )?works?(?: now| fine| great| well| perfectly)?[.!]*$"
    r"|works (?:now|fine|great|well|perfectly|like a charm)|it works|perfect|great(?: job| work)"
    r"|(?:looks|all) good|well done|thank(?:s| you)|awesome|excellent|lgtm|ship it|nice work"
    r"|danke|super|funktioniert|geht jetzt|gracias|perfecto|funciona|merci|parfait|ça marche"
    r"|obrigad[oa]|спасибо|отлично|работает)\b"
    r"|ありがとう|完璧|動きました|谢谢|完美|可以了|好的，谢谢|감사합니다",
    re.IGNORECASE | re.MULTILINE,
)


class SessionVerdict(StrEnum):
    """How a session ended."""

    SUCCESS = "success"
    FAILURE = "failure"
    UNPROVEN = "unproven"


@record
class _Outcome:
    """A verdict and its reason."""

    verdict: SessionVerdict
    reason: str

    @property
    def is_success(self) -> bool:
        """Whether there is something to learn from."""
        return self.verdict is SessionVerdict.SUCCESS


def judge_session(history: SessionHistory) -> _Outcome:
    """How a session ended, by the first rule that applies."""
    steps = history.steps
    for verdict, reason in (
        (SessionVerdict.FAILURE, _complaint(history)),
        (SessionVerdict.FAILURE, _reverted(history)),
        (SessionVerdict.FAILURE, _left_failing(steps)),
        (SessionVerdict.SUCCESS, _proven(steps)),
        (SessionVerdict.SUCCESS, _committed(steps)),
        (SessionVerdict.SUCCESS, _praised(history)),
        (SessionVerdict.SUCCESS, _nothing_failing(steps)),
    ):
        if reason is not None:
            return _Outcome(verdict, reason)
    return _Outcome(SessionVerdict.UNPROVEN, "there is no sign whether it worked")


def _complaint(history: SessionHistory) -> str | None:
    """The last complaint, unless a test, a commit or thanks followed. The first prompt is not one:
    it describes what is broken at the start."""
    later = list(enumerate(history.prompts[1:], 2))
    at = max((number for number, text in later if _matches(_BAD, text)), default=0)
    proofs = ("test", "commit")
    is_proven = any(s.prompt >= at and s.ok and s.purpose in proofs for s in history.steps)
    is_praised = any(number > at and _matches(_GOOD, text) for number, text in later)
    is_open = at > 0 and not (is_proven or is_praised)
    return "the user said that it does not work" if is_open else None


def _matches(rule: re.Pattern[str], text: str) -> bool:
    return rule.search(text[:_PROMPT_CHARS]) is not None


def _reverted(history: SessionHistory) -> str | None:
    if history.is_commit_lost:
        return "its commit is no longer on a branch"
    edited = any(step.is_edit and step.ok for step in history.steps)
    if edited and not any(step.is_edit for step in effective_steps(history.steps)):
        return "its edits were reverted"
    return None


def _left_failing(steps: tuple[SessionStep, ...]) -> str | None:
    failing: list[SessionStep] = []
    for step in steps:
        if step.kind == "run" and step.purpose in ("test", "check"):
            failing = [one for one in failing if not covers(step, one)]
            failing += [] if step.ok else [step]
    if failing:
        return "its last tests or checks fail"
    runs = [step for step in steps if step.kind in ("run", "tool")]
    return "its last command failed" if runs and not runs[-1].ok else None


def _since_last_edit(steps: tuple[SessionStep, ...]) -> tuple[SessionStep, ...]:
    last = max((n for n, step in enumerate(steps) if step.is_edit), default=-1)
    return steps[last + 1 :]


def _proven(steps: tuple[SessionStep, ...]) -> str | None:
    ran = [s for s in _since_last_edit(steps) if s.ok and s.purpose in ("test", "check")]
    return f"{ran[-1].purpose}s passed after the last edit" if ran else None


def _committed(steps: tuple[SessionStep, ...]) -> str | None:
    made = [s for s in effective_steps(steps) if s.purpose == "commit" and s.ok]
    return "a commit was made and kept" if made else None


def _praised(history: SessionHistory) -> str | None:
    later = history.prompts[1:][-2:]
    text = any(_matches(_GOOD, prompt) for prompt in later)
    return "the user said that it works" if text else None


def _nothing_failing(steps: tuple[SessionStep, ...]) -> str | None:
    ran = [s for s in _since_last_edit(steps) if s.kind in ("run", "tool") and s.purpose != "look"]
    return "its last command worked" if ran and ran[-1].ok else None
