"""What steps on a screen say about the application: five kinds of facts, by rule, without a model.

- precondition: something must hold, or be done, before the application can be used;
- timing: something takes time before it can be used;
- ui_behavior: how a part of the screen behaves, such as being out of use;
- test_sequence: the steps that lead to a place;
- mcp_gotcha: a quirk of the tool itself.

A fact is told in words that are the same at every sighting: no times, no numbers, nothing typed;
what a page says stands in quotes. Pure; the steps so far are handed in with the new one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, TypeAlias

from wellkept.core.records import record
from wellkept.core.text import shorten
from wellkept.observe.browser.steps import BrowserStep
from wellkept.observe.browser.tool_results import ErrorKind

FactKind: TypeAlias = Literal[
    "precondition", "timing", "ui_behavior", "test_sequence", "mcp_gotcha"
]
MAX_STEPS = 16
MIN_IN_SEQUENCE, MAX_IN_SEQUENCE = 3, 8
LONG_WAIT_MS = 1_000
_SOON = 6

_QUIRKS: Mapping[ErrorKind, str] = {
    "stale": "`{tool}` fails with a reference from an old snapshot: take a new one once the page"
    " has changed",
    "dialog": "`{tool}` fails while a dialog is open: answer the dialog first",
    "closed": "`{tool}` fails once its page or browser is closed: open it again",
    "hurried": "`{tool}` fails when it comes too soon after the same click: wait in between",
    "key": "`{tool}` knows keys by their own names only, such as Enter or ArrowLeft",
}
_BLOCKED: Mapping[ErrorKind, str] = {
    "disabled": "is disabled",
    "read_only": "cannot be edited",
    "covered": "is covered by something else",
}
_PASSING: tuple[ErrorKind, ...] = ("not_ready", "moving", *_BLOCKED)


@record(kw_only=True)
class BrowserFact:
    """One fact. `subject` tells it from others; `about` is the action that it speaks of."""

    kind: FactKind
    subject: str
    content: str
    about: str
    tool: str
    page: str = ""
    files: tuple[str, ...] = ()


def facts(before: Sequence[BrowserStep], step: BrowserStep) -> list[BrowserFact]:
    """What a step says, in the light of the steps before it: the first rule that fits counts."""
    for rule in _RULES:
        found = rule(before, step)
        if found is not None:
            return [found]
    return []


def worked_at_once(before: Sequence[BrowserStep], step: BrowserStep) -> str | None:
    """The action that worked without trouble; it speaks against facts that say otherwise."""
    trouble = any(_about(one) == _about(step) and not one.ok for one in before)
    smooth = step.ok and step.target and not trouble and not _led_to_login(step)
    return _about(step) if smooth else None


# -- The rules ------------------------------------------------------------------------------------


def _quirk(_: Sequence[BrowserStep], step: BrowserStep) -> BrowserFact | None:
    if step.trouble == "ambiguous" and step.target:
        told = f"{step.target} fits several elements{_on(step)}: name one of them more exactly"
        return _fact("mcp_gotcha", step, told, "ambiguous")
    if told := _QUIRKS.get(step.trouble):
        # A quirk is the tool's, whatever it was used on.
        return _fact("mcp_gotcha", step, told.format(tool=step.tool), step.trouble, of_tool=True)
    return None


def _precondition(_: Sequence[BrowserStep], step: BrowserStep) -> BrowserFact | None:
    if _led_to_login(step):
        told = f"Opening {step.target} leads to {step.place}: it needs a login first"
        return _fact("precondition", step, told, "login")
    if step.trouble == "refused" and step.deed == "open":
        told = "The application must be running before it can be opened"
        return _fact("precondition", step, told, "running", of_tool=True)
    if step.trouble == "no_browser":
        told = f"A browser must be installed before `{step.tool}` works"
        return _fact("precondition", step, told, "browser", of_tool=True)
    if not step.needs:
        return None
    told = f'Before {step.action or step.verb}{_on(step)} works: it says "{step.needs}"'
    if step.deed == "look":
        told = f'The page {step.page} says: "{step.needs}"'
    return _fact("precondition", step, told, step.needs.casefold())


def _worked_later(before: Sequence[BrowserStep], step: BrowserStep) -> BrowserFact | None:
    """What failed and works now: something was done in between, or it only took time."""
    if step.trouble == "moving":
        return _timing(before, step)
    if not step.ok or step.deed != "act" or not step.target:
        return None
    recent = before[-_SOON:]
    failed = [n for n, one in enumerate(recent) if _about(one) == _about(step) and not one.ok]
    if not failed or recent[failed[-1]].trouble not in _PASSING:
        return None
    between = [one for one in recent[failed[-1] + 1 :] if one.deed in ("act", "open") and one.ok]
    if between:
        done = ", then ".join(dict.fromkeys(one.action for one in between))
        return _fact("precondition", step, f"Before {step.action}{_on(step)} works: {done}", done)
    return _timing(recent[: failed[0]], step)


def _timing(before: Sequence[BrowserStep], step: BrowserStep) -> BrowserFact:
    last = next((one for one in reversed(before) if one.deed in ("open", "act") and one.ok), None)
    after = f" after {last.action}" if last is not None else ""
    told = f"{step.action} takes a moment to work{after}: wait for it"
    return _fact("timing", step, told, last.action if last else "")


def _waited(before: Sequence[BrowserStep], step: BrowserStep) -> BrowserFact | None:
    """Something that was waited for, and took its time."""
    done = [one for one in before if one.deed in ("open", "act") and one.ok]
    if step.deed != "wait" or not (step.ok and step.target and done):
        return None
    if step.took_ms < LONG_WAIT_MS:
        return None
    told = f"After {done[-1].action} wait for {step.target}: it takes a moment"
    return _fact("timing", step, told, done[-1].action)


def _out_of_use(_: Sequence[BrowserStep], step: BrowserStep) -> BrowserFact | None:
    """A part of the screen that cannot be used; withdrawn when it works later in the session."""
    if step.deed != "act" or not step.target or step.trouble not in _BLOCKED:
        return None
    how = _BLOCKED[step.trouble]
    told = f"{step.action}{_on(step)}: the element {how}; that is how it behaves there"
    return _fact("ui_behavior", step, told, how)


def _asked(before: Sequence[BrowserStep], step: BrowserStep) -> BrowserFact | None:
    if not step.dialog or step.deed == "look" or not step.ok:
        return None
    doing = step if step.verb != "handle_dialog" else (before[-1] if before else step)
    told = f'{doing.action}{_on(doing)} opens a dialog: "{step.dialog}"'
    return _fact("ui_behavior", doing, told, "dialog")


def _sequence(before: Sequence[BrowserStep], step: BrowserStep) -> BrowserFact | None:
    """Opening a place and at least three things done there, then a look at where they led."""
    if step.deed != "look" or not step.ok or step.verb == "list_pages":
        return None
    starts = [n for n, one in enumerate(before) if one.deed == "open" and one.ok]
    if not starts and len(before) < MAX_STEPS:
        starts = [0]  # an application that was running already
    if not starts:
        return None
    path = [one for one in before[starts[-1] :] if one.ok and (one.deed == "open" or one.target)]
    acts = [one for one in path if one.deed == "act" and one.target]
    done = sum(one.target.count("`") // 2 for one in acts)
    if not MIN_IN_SEQUENCE <= done <= MAX_IN_SEQUENCE:
        return None
    opened = [one.action for one in path[:1] if one.deed == "open"]
    actions = [*opened, *dict.fromkeys(one.action for one in acts)]
    goal = step.title or step.place or acts[-1].action
    told = f'To get to "{goal}": {", then ".join(actions)}'
    return _fact("test_sequence", step, told, "\n".join(actions), of_tool=True)


def _led_to_login(step: BrowserStep) -> bool:
    words = ("login", "log-in", "signin", "sign-in", "auth", "sso")
    asked_for = any(f"/{word}" in step.target.casefold() for word in words)
    came_to = any(f"/{word}" in step.place.casefold() for word in words)
    return step.deed == "open" and step.ok and came_to and not asked_for


_Rule = Callable[[Sequence[BrowserStep], BrowserStep], BrowserFact | None]
_RULES: tuple[_Rule, ...] = (
    _quirk,
    _precondition,
    _worked_later,
    _waited,
    _out_of_use,
    _asked,
    _sequence,
)


# -- Parts ----------------------------------------------------------------------------------------


def _fact(
    kind: FactKind, step: BrowserStep, content: str, detail: str, *, of_tool: bool = False
) -> BrowserFact:
    """A fact; one that is `of_tool` does not depend on the element it was met at."""
    about = "" if of_tool else _about(step)
    return BrowserFact(
        kind=kind,
        subject=f"{kind}\n{about}\n{detail}".casefold(),
        content=f"{content[:1].upper()}{shorten(content[1:], limit=400).rstrip('.')}.",
        about=about,
        tool=step.tool,
        page=step.page,
        files=step.files,
    )


def _about(step: BrowserStep) -> str:
    """An action and where it was done: a button may be there on several pages."""
    return f"{step.action}{_on(step)}"


def _on(step: BrowserStep) -> str:
    named = step.page and step.page != step.target
    return f" on {step.page}" if named else ""
