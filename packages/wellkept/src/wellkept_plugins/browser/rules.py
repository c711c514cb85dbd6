"""Infers facts about an application from browser steps. Five kinds, by rule, without a model:

- precondition: required before the application or an element can be used;
- timing: an element that needs time before it can be used;
- ui_behavior: how an element behaves, such as being disabled;
- test_sequence: the steps that lead to a page;
- mcp_gotcha: a quirk of the tool itself.

The text of a fact is the same every time: no times, no numbers, no typed text; page text is quoted.
Pure: previous steps are passed in with the new one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, TypeAlias

from wellkept.core.records import record
from wellkept.core.text import shorten
from wellkept_plugins.browser.steps import BrowserStep
from wellkept_plugins.browser.tool_results import ErrorKind

FactKind: TypeAlias = Literal[
    "precondition", "timing", "ui_behavior", "test_sequence", "mcp_gotcha"
]
MAX_STEPS = 16
MIN_IN_SEQUENCE, MAX_IN_SEQUENCE = 3, 8
LONG_WAIT_MS = 1_000
_RECENT_STEPS = 6

_QUIRKS: Mapping[ErrorKind, str] = {
    "stale": "`{tool}` fails with a reference from an old snapshot: take a new one once the page"
    " has changed",
    "dialog": "`{tool}` fails while a dialog is open: answer the dialog first",
    "closed": "`{tool}` fails once its page or browser is closed: open it again",
    "hurried": "`{tool}` fails when it comes too soon after the same click: wait in between",
    "key": "`{tool}` knows keys by their own names only, such as Enter or ArrowLeft",
}
_UNUSABLE: Mapping[ErrorKind, str] = {
    "disabled": "is disabled",
    "read_only": "cannot be edited",
    "covered": "is covered by something else",
}
_TEMPORARY: tuple[ErrorKind, ...] = ("not_ready", "moving", *_UNUSABLE)


@record(kw_only=True)
class BrowserFact:
    """One fact. `subject` identifies it; `about` is the action it is about."""

    kind: FactKind
    subject: str
    content: str
    about: str
    tool: str
    page: str = ""
    files: tuple[str, ...] = ()


def facts(before: Sequence[BrowserStep], step: BrowserStep) -> list[BrowserFact]:
    """The fact that a step shows, given the steps before it: the first matching rule."""
    for rule in _RULES:
        found = rule(before, step)
        if found is not None:
            return [found]
    return []


def worked_at_once(before: Sequence[BrowserStep], step: BrowserStep) -> str | None:
    """The action of a step that worked at the first attempt; it contradicts facts about it."""
    error = any(_about(one) == _about(step) and not one.ok for one in before)
    succeeded = step.ok and step.target and not error and not _led_to_login(step)
    return _about(step) if succeeded else None


# -- The rules ------------------------------------------------------------------------------------


def _quirk(_: Sequence[BrowserStep], step: BrowserStep) -> BrowserFact | None:
    if step.error == "ambiguous" and step.target:
        text = f"{step.target} fits several elements{_on(step)}: name one of them more exactly"
        return _fact("mcp_gotcha", step, text, "ambiguous")
    if text := _QUIRKS.get(step.error):
        # A quirk belongs to the tool, not to the element.
        return _fact("mcp_gotcha", step, text.format(tool=step.tool), step.error, of_tool=True)
    return None


def _precondition(_: Sequence[BrowserStep], step: BrowserStep) -> BrowserFact | None:
    if _led_to_login(step):
        text = f"Opening {step.target} leads to {step.place}: it needs a login first"
        return _fact("precondition", step, text, "login")
    if step.error == "refused" and step.kind == "open":
        text = "The application must be running before it can be opened"
        return _fact("precondition", step, text, "running", of_tool=True)
    if step.error == "no_browser":
        text = f"A browser must be installed before `{step.tool}` works"
        return _fact("precondition", step, text, "browser", of_tool=True)
    if not step.needs:
        return None
    text = f'Before {step.action or step.verb}{_on(step)} works: it says "{step.needs}"'
    if step.kind == "look":
        text = f'The page {step.page} says: "{step.needs}"'
    return _fact("precondition", step, text, step.needs.casefold())


def _worked_later(before: Sequence[BrowserStep], step: BrowserStep) -> BrowserFact | None:
    """An action that failed and works now: after another action, or after waiting."""
    if step.error == "moving":
        return _timing(before, step)
    if not step.ok or step.kind != "act" or not step.target:
        return None
    recent = before[-_RECENT_STEPS:]
    failed = [n for n, one in enumerate(recent) if _about(one) == _about(step) and not one.ok]
    if not failed or recent[failed[-1]].error not in _TEMPORARY:
        return None
    between = [one for one in recent[failed[-1] + 1 :] if one.kind in ("act", "open") and one.ok]
    if between:
        done = ", then ".join(dict.fromkeys(one.action for one in between))
        return _fact("precondition", step, f"Before {step.action}{_on(step)} works: {done}", done)
    return _timing(recent[: failed[0]], step)


def _timing(before: Sequence[BrowserStep], step: BrowserStep) -> BrowserFact:
    last = next((one for one in reversed(before) if one.kind in ("open", "act") and one.ok), None)
    after = f" after {last.action}" if last is not None else ""
    text = f"{step.action} takes a moment to work{after}: wait for it"
    return _fact("timing", step, text, last.action if last else "")


def _waited(before: Sequence[BrowserStep], step: BrowserStep) -> BrowserFact | None:
    """A wait that took long."""
    done = [one for one in before if one.kind in ("open", "act") and one.ok]
    if step.kind != "wait" or not (step.ok and step.target and done):
        return None
    if step.took_ms < LONG_WAIT_MS:
        return None
    text = f"After {done[-1].action} wait for {step.target}: it takes a moment"
    return _fact("timing", step, text, done[-1].action)


def _unusable(_: Sequence[BrowserStep], step: BrowserStep) -> BrowserFact | None:
    """An element that cannot be used; withdrawn if it works later in the session."""
    if step.kind != "act" or not step.target or step.error not in _UNUSABLE:
        return None
    how = _UNUSABLE[step.error]
    text = f"{step.action}{_on(step)}: the element {how}; that is how it behaves there"
    return _fact("ui_behavior", step, text, how)


def _dialog(before: Sequence[BrowserStep], step: BrowserStep) -> BrowserFact | None:
    if not step.dialog or step.kind == "look" or not step.ok:
        return None
    doing = step if step.verb != "handle_dialog" else (before[-1] if before else step)
    text = f'{doing.action}{_on(doing)} opens a dialog: "{step.dialog}"'
    return _fact("ui_behavior", doing, text, "dialog")


def _sequence(before: Sequence[BrowserStep], step: BrowserStep) -> BrowserFact | None:
    """Opening a page, at least three actions, then a look at the result."""
    if step.kind != "look" or not step.ok or step.verb == "list_pages":
        return None
    starts = [n for n, one in enumerate(before) if one.kind == "open" and one.ok]
    if not starts and len(before) < MAX_STEPS:
        starts = [0]  # the application was already open
    if not starts:
        return None
    path = [one for one in before[starts[-1] :] if one.ok and (one.kind == "open" or one.target)]
    acts = [one for one in path if one.kind == "act" and one.target]
    done = sum(one.target.count("`") // 2 for one in acts)
    if not MIN_IN_SEQUENCE <= done <= MAX_IN_SEQUENCE:
        return None
    opened = [one.action for one in path[:1] if one.kind == "open"]
    actions = [*opened, *dict.fromkeys(one.action for one in acts)]
    goal = step.title or step.place or acts[-1].action
    text = f'To get to "{goal}": {", then ".join(actions)}'
    return _fact("test_sequence", step, text, "\n".join(actions), of_tool=True)


def _led_to_login(step: BrowserStep) -> bool:
    words = ("login", "log-in", "signin", "sign-in", "auth", "sso")
    asked_for = any(f"/{word}" in step.target.casefold() for word in words)
    came_to = any(f"/{word}" in step.place.casefold() for word in words)
    return step.kind == "open" and step.ok and came_to and not asked_for


_Rule = Callable[[Sequence[BrowserStep], BrowserStep], BrowserFact | None]
_RULES: tuple[_Rule, ...] = (
    _quirk,
    _precondition,
    _worked_later,
    _waited,
    _unusable,
    _dialog,
    _sequence,
)


# -- Parts ----------------------------------------------------------------------------------------


def _fact(
    kind: FactKind, step: BrowserStep, content: str, detail: str, *, of_tool: bool = False
) -> BrowserFact:
    """A fact; with `of_tool` it does not depend on the element."""
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
    """An action with its page: a button may exist on several pages."""
    return f"{step.action}{_on(step)}"


def _on(step: BrowserStep) -> str:
    named = step.page and step.page != step.target
    return f" on {step.page}" if named else ""
