"""What steps on a screen say about the application: five kinds of facts, by rule, without a model.

- precondition: something must hold before the application can be used;
- timing: something takes time before it can be used;
- ui_behavior: how a part of the screen behaves, such as being disabled;
- test_sequence: the steps that lead to a place;
- mcp_gotcha: a quirk of the tool itself.

A fact is told in words that are the same at every sighting: no times, no numbers, nothing typed.
Pure; the steps so far are handed in with the new one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias

from holdfast.core.records import record
from holdfast.core.text import shorten
from holdfast.observe.learning.screens import ScreenStep

FactKind: TypeAlias = Literal[
    "precondition", "timing", "ui_behavior", "test_sequence", "mcp_gotcha"
]
MOST_STEPS = 16
FEWEST_IN_SEQUENCE, MOST_IN_SEQUENCE = 3, 8
_SOON = 6

_QUIRKS = re.compile(
    r"strict mode violation|resolved to \d+ elements|execution context was destroyed"
    r"|target (?:page|closed|crashed)|browser (?:has been|was|is) (?:closed|already)|no open pages?"
    r"|protocol error|not attached to the dom|\bref\b.{0,40}not found"
    r"|stale (?:element|snapshot|ref)"
    r"|take a (?:new )?snapshot|screenshot .{0,40}(?:failed|black|blank|empty)"
    r"|exceeds? (?:the )?maximum|npx playwright install|unknown key|unsupported (?:key|selector)",
    re.IGNORECASE,
)
_NEEDS = re.compile(
    r"(?:log ?in|sign ?in|authentication) (?:is )?required|not (?:logged|signed) in"
    r"|please (?:log|sign) in|unauthori[sz]ed|forbidden|connection refused|econnrefused"
    r"|(?:server|service|backend|app(?:lication)?) (?:is )?not (?:running|started|reachable)"
    r"|requires? [^.]{1,80}|must (?:be|have|first) [^.]{1,80}"
    r"|please (?:enable|start|configure|select|choose|add|connect) [^.]{1,80}"
    r"|[^.]{1,60} (?:is|are) (?:required|needed) (?:first|before)[^.]{0,40}",
    re.IGNORECASE,
)
_NOT_YET = re.compile(
    r"not (?:yet|stable)|still (?:loading|animating|opening|rendering)|is (?:loading|animating)"
    r"|waiting for|timeout|timed out|not (?:visible|enabled|attached)",
    re.IGNORECASE,
)
_CERTAINLY_NOT_YET = re.compile(
    r"not stable|still (?:loading|animating|opening|rendering)|is (?:loading|animating)",
    re.IGNORECASE,
)
_BLOCKED = re.compile(
    r"is (?:disabled|read-?only|not editable)|intercepts pointer events|aria-disabled",
    re.IGNORECASE,
)
_DIALOG = re.compile(r"\b(?:dialog|alert)\b[^\"“]{0,60}[\"“]([^\"”]{3,120})", re.IGNORECASE)
_LOGIN = re.compile(r"/(?:log-?in|sign-?in|auth|sso)\b", re.IGNORECASE)
_NUMBERS = re.compile(r"\b\d+(?:\.\d+)?(?:\s?ms|\s?s)?\b")


@record(kw_only=True)
class ScreenFact:
    """One fact. `subject` tells it from others; `about` is the action that it speaks of."""

    kind: FactKind
    subject: str
    content: str
    about: str
    tool: str
    files: tuple[str, ...] = ()


def facts(before: Sequence[ScreenStep], step: ScreenStep) -> list[ScreenFact]:
    """What a step says, in the light of the steps before it: the first rule that fits counts."""
    for rule in _RULES:
        found = rule(before, step)
        if found is not None:
            return [found]
    return []


def worked_at_once(before: Sequence[ScreenStep], step: ScreenStep) -> str | None:
    """The action that worked without trouble; it speaks against facts that say otherwise."""
    trouble = any(one.action == step.action and not one.ok for one in before)
    told = _BLOCKED.search(step.told) or _NOT_YET.search(step.told) or _led_to_login(step)
    return step.action if step.ok and step.target and not trouble and not told else None


# -- The rules ------------------------------------------------------------------------------------


def _quirk(_: Sequence[ScreenStep], step: ScreenStep) -> ScreenFact | None:
    found = _QUIRKS.search(step.told)
    if found is None or step.ok:
        return None
    word = _plain(found[0])
    return _fact("mcp_gotcha", step, f"`{step.verb}` can fail with: {_plain(step.told)}", word)


def _precondition(_: Sequence[ScreenStep], step: ScreenStep) -> ScreenFact | None:
    if _led_to_login(step):
        told = f"{step.target} needs a login first: opening it leads to {step.place}"
        return _fact("precondition", step, told, "login")
    found = _NEEDS.search(step.told)
    if found is None or (step.ok and step.deed not in ("open", "act")):
        return None
    told = f"Before {step.action or step.verb} works: {_plain(found[0])}"
    return _fact("precondition", step, told, _plain(found[0]).lower())


def _waited_for(before: Sequence[ScreenStep], step: ScreenStep) -> ScreenFact | None:
    """Something that failed as not ready and worked soon after; or says itself that it is not."""
    if not step.ok and _CERTAINLY_NOT_YET.search(step.told):
        return _timing(before, step)
    if not step.ok or step.deed != "act" or not step.target:
        return None
    recent = before[-_SOON:]
    failed = [n for n, one in enumerate(recent) if one.action == step.action and not one.ok]
    if not failed or not _NOT_YET.search(recent[failed[-1]].told):
        return None
    return _timing(recent[: failed[0]], recent[failed[-1]])


def _timing(before: Sequence[ScreenStep], step: ScreenStep) -> ScreenFact:
    last = next((one for one in reversed(before) if one.deed in ("open", "act") and one.ok), None)
    after = f" after {last.action}" if last is not None else ""
    told = f"{step.action} takes a moment to work{after}: wait for it"
    return _fact("timing", step, told, last.action if last else "")


def _blocked(before: Sequence[ScreenStep], step: ScreenStep) -> ScreenFact | None:
    found = _BLOCKED.search(step.told)
    if found is not None and step.deed == "act" and step.target:
        told = f"{step.action}: the element {_plain(found[0])}; that is how it behaves there"
        return _fact("ui_behavior", step, told, _plain(found[0]).lower())
    asked = _DIALOG.search(step.told)
    if asked is None or step.deed == "look":
        return None
    doing = step if step.verb != "handle_dialog" else (before[-1] if before else step)
    return _fact(
        "ui_behavior", doing, f"{doing.action} opens a dialog: {_plain(asked[1])}", "dialog"
    )


def _sequence(before: Sequence[ScreenStep], step: ScreenStep) -> ScreenFact | None:
    """Opening a place and at least three actions that all worked, then a look at where they led."""
    if step.deed != "look" or not step.ok:
        return None
    starts = [n for n, one in enumerate(before) if one.deed == "open" and one.ok]
    if not starts:
        return None
    path = [one for one in before[starts[-1] :] if one.deed in ("open", "act")]
    acts = [one for one in path if one.deed == "act" and one.target]
    if any(not one.ok for one in path) or not FEWEST_IN_SEQUENCE <= len(acts) <= MOST_IN_SEQUENCE:
        return None
    actions = [path[0].action, *dict.fromkeys(one.action for one in acts)]
    goal = step.title or step.place or acts[-1].action
    told = f"To get to {_plain(goal)}: {', then '.join(actions)}"
    return _fact("test_sequence", step, told, "\n".join(actions), about=goal)


def _led_to_login(step: ScreenStep) -> bool:
    asked_for_it = _LOGIN.search(step.target)
    return step.deed == "open" and not asked_for_it and _LOGIN.search(step.place) is not None


_Rule = Callable[[Sequence[ScreenStep], ScreenStep], ScreenFact | None]
_RULES: tuple[_Rule, ...] = (_quirk, _precondition, _waited_for, _blocked, _sequence)


# -- Parts ----------------------------------------------------------------------------------------


def _fact(
    kind: FactKind, step: ScreenStep, content: str, detail: str, *, about: str | None = None
) -> ScreenFact:
    subject = f"{kind}\n{step.action if kind != 'test_sequence' else ''}\n{detail}"
    return ScreenFact(
        kind=kind,
        subject=subject.lower(),
        content=f"{content[:1].upper()}{shorten(content[1:], limit=400).rstrip('.')}.",
        about=step.action if about is None else about,
        tool=step.verb,
        files=step.files,
    )


def _plain(text: str) -> str:
    """Words that are the same at every sighting."""
    return " ".join(_NUMBERS.sub("N", text).split()).strip(" .:;-#")
