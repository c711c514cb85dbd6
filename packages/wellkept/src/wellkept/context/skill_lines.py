"""Skill hints for the context pack: those that are forced, and at most one that clearly fits.

An agent reads the skill in full (`skill_run`, or the client's own way), so a hint costs a few dozen
tokens. At a session's start nothing is asked yet, so only forced skills are named. Invariants: with
a deadline there is always an answer in time, with a skill or without; no failure of skills affects
the memory context.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final, cast

from wellkept.context.moments import MOMENTS, Moment
from wellkept.context.packing import ExtraLine
from wellkept.core.errors import WellkeptError
from wellkept.core.session.injected_text import quoted
from wellkept.core.text import content_words, shorten, stem

if TYPE_CHECKING:
    from wellkept.context.moments import ContextRequest
    from wellkept.core.codec import Json
    from wellkept.core.skills import Skill
    from wellkept.skills.library.api import Skills
    from wellkept.skills.selection.select import SkillChoice

LINE_CHARS: Final = 220
_ID_CHARS: Final = 16
MIN_WORDS, MAX_WORDS, MIN_SHARED, _MIN_AHEAD = 3, 40, 0.5, 2


class SkillContextSource:
    """Suggests the skills of one project."""

    def __init__(self, skills: Skills) -> None:
        self._skills = skills
        self._busy = threading.Lock()

    def offers(self, request: ContextRequest) -> tuple[ExtraLine, ...]:
        """The skills for a moment, unless they were shown before."""
        if not MOMENTS[request.moment].skills:
            return ()
        try:
            if request.moment is Moment.SESSION:
                self._skills.detect()  # logs changes for subscribers
            forced = self._skills.forced(request.session)
            chosen = self._skills.hint(
                request.query,
                phase="planning" if request.moment is Moment.PLAN else None,
                files=request.files,
            )
        except (WellkeptError, OSError):
            return ()
        offered = {one.id: one for one in map(_extra, (*forced, *([chosen] if chosen else [])))}
        return tuple(extra for extra in offered.values() if extra.id not in request.shown)

    def offers_within(self, seconds: float, request: ContextRequest) -> tuple[ExtraLine, ...]:
        """The same, if it is ready in time; else nothing. The work continues in its thread, so that
        the next request finds the indexes built."""
        if not self._busy.acquire(blocking=False):
            return ()
        done: list[tuple[ExtraLine, ...]] = []

        def work() -> None:
            try:
                done.append(self.offers(request))
            finally:
                self._busy.release()

        thread = threading.Thread(target=work, name="wellkept-skills", daemon=True)
        thread.start()
        thread.join(seconds)
        return done[0] if done else ()


def shown_id(skill: Skill) -> str:
    """The id of a skill in the list of shown items; changes with its text."""
    return f"s:{skill.sha256[:_ID_CHARS]}"


def named_by_summary(prompt: str, summaries: Json) -> ExtraLine | None:
    """The one skill whose name and description have a good part of a short prompt's words, and
    clearly more of them than any other's. `summaries` are rows of name, description and sha256."""
    asked = set(map(stem, content_words(prompt)))
    if not MIN_WORDS <= len(asked) <= MAX_WORDS or not isinstance(summaries, list):
        return None
    shared = sorted(
        (len(asked.intersection(map(stem, content_words(f"{row[0]} {row[1]}")))), row)
        for row in cast("list[list[str]]", summaries)
    )
    second, (most, row) = shared[-2][0] if len(shared) > 1 else 0, shared[-1]
    if most < MIN_WORDS or most - second < _MIN_AHEAD or most < MIN_SHARED * len(asked):
        return None
    return _line(row, "its own task")


def forced_by_summary(names: Iterable[str], summaries: Json) -> list[ExtraLine]:
    """The skills of these names; of one that is in no summary only the name is said."""
    rows = cast("list[list[str]]", summaries) if isinstance(summaries, list) else []
    known = {row[0]: row for row in rows}
    return [_line(known.get(name, (name, "", name)), "forced for this session") for name in names]


def _extra(choice: SkillChoice) -> ExtraLine:
    skill = choice.skill
    reason = choice.reasons[0] if choice.reasons else "fits"
    return _line((skill.name, skill.description, skill.sha256), reason)


def _line(row: Sequence[str], reason: str) -> ExtraLine:
    name, description, sha256 = row
    text = shorten(quoted(f"{name}: {description}".removesuffix(": ")), limit=LINE_CHARS)
    return ExtraLine(f"s:{sha256[:_ID_CHARS]}", name, f"- skill {text}", reason)
