"""What an agent does to a running application through a browser or desktop tool, step by step.

Tools are known by rule: by the server they come from, or by a verb that nothing else has. A step
says what was done to which part of the screen, on which page, and what came of it. Elements are
called by the names that the latest snapshot gave their references, so that a step has the same name
whoever describes it. What was typed is never kept. Knows nothing of what steps mean.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, TypeAlias, cast

from wellkept.core.clock import to_ms
from wellkept.core.codec import Json
from wellkept.core.events import ToolCalled, ToolKind
from wellkept.core.records import field, record
from wellkept.observe.browser.tool_results import (
    MAX_NAMES,
    NAME_CHARS,
    ErrorKind,
    ToolResult,
    page_path,
    quotable,
    read_result,
)
from wellkept.observe.reading.sanitize import safe_text

ActionKind: TypeAlias = Literal["open", "act", "look", "wait"]

_SERVERS = re.compile(
    r"playwright|puppeteer|browser|chrome|devtools|electron|selenium|webdriver|cypress|appium"
    r"|desktop|computer[-_]use|screen|simulator|webkit|firefox|maestro",
    re.IGNORECASE,
)
_VERBS: Mapping[ActionKind, str] = {
    "open": "navigate navigate_page navigate_to_hash goto open_page new_page open_url launch"
    " launch_app start_app restart_app reload",
    "act": "click click_by_text click_by_selector click_button click_element double_click tap press"
    " press_key send_keyboard_shortcut send_keys keyboard fill fill_input fill_form type type_text"
    " select select_option select_dropdown hover drag drop upload upload_file file_upload check"
    " uncheck handle_dialog swipe scroll",
    "look": "take_screenshot screenshot snapshot take_snapshot get_page_structure page_structure"
    " get_text get_content console_messages list_console_messages network_requests eval evaluate"
    " evaluate_script verify_page_structure verify_form_state get_url assert find_element find"
    " list_pages",
    "wait": "wait wait_for wait_for_selector wait_for_text sleep",
}
_DEEDS: Mapping[str, ActionKind] = {
    verb: deed for deed, verbs in _VERBS.items() for verb in verbs.split()
}
_TELLING = frozenset(
    "take_screenshot click_by_text fill_input get_page_structure send_keyboard_shortcut"
    " browser_click browser_navigate browser_snapshot".split()
)
_TYPES = re.compile(r"^(?:type|fill|send_keys|keyboard|select|upload|file_upload|drop)")
_PRESSES = re.compile(r"^(?:press|send_keyboard)")
_REFERENCES = ("target", "ref", "uid", "startTarget", "from_uid")
_WORDS = (
    "element", "label", "placeholder", "name", "startElement", "selector", "locator", "target",
)  # fmt: skip
_SHOWN = ("text", "textGone")  # words on the screen, of a tool that types none
_KEYS = ("key", "shortcut", "text")
_WRAPPER = "send_command_to_electron"
_PLACES = ("url", "page", "app", "path")
_TYPED = ("text", "value", "values", "key", "promptText")
_LISTS = ("fields", "elements")
_REF = re.compile(r"^(?:f\d+)?[a-z]{0,2}\d+(?:_\d+)*$")
_KEY = re.compile(r"(?:\w{3,7}\+)+\S{1,12}|F\d{1,2}|[A-Z][A-Za-z]{2,14}")
_ROLE = re.compile(
    r"^the | (?:button|link|field|input|(?:text|check)? ?box|tab|icon|menu|option|dropdown)$",
    re.IGNORECASE,
)
_MAX_TEXT = 20_000
_MOST_FIELDS = 6


@record(kw_only=True)
class BrowserStep:
    """One thing done to a running application: on which `page`, and the `place` where it stood
    afterwards. `tool` is the tool by its full name, `verb` what it does."""

    tool: str
    verb: str
    deed: ActionKind
    target: str
    at_ms: int
    took_ms: int = 0
    trouble: ErrorKind = "none"
    needs: str = ""
    dialog: str = ""
    page: str = ""
    place: str = ""
    title: str = ""
    files: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether it worked."""
        return self.trouble == "none"

    @property
    def action(self) -> str:
        """What was done, for people and for telling actions apart."""
        if self.deed == "open":
            return f"open {self.target}".strip()
        verb = re.sub(r"^browser_|_by_\w+$|_(?:element|input|page|option|text)$", "", self.verb)
        return f"{verb.replace('_', ' ')} {self.target}".strip()


@record(kw_only=True)
class BrowserState:
    """What is known of the screen between two steps: where it is, what its parts are called by
    their references, and which of them were out of use."""

    place: str = ""
    title: str = ""
    names: dict[str, str] = field(default_factory=dict[str, str])
    blocked: tuple[str, ...] = ()


def is_browser_call(call: ToolCalled) -> bool:
    """Whether a tool call has to do with a screen."""
    return _meant(call) is not None


def read_step(
    call: ToolCalled, screen: BrowserState | None = None
) -> tuple[BrowserStep, BrowserState] | None:
    """The step that a tool call is and the screen after it; None when it has nothing to do with
    one."""
    meant = _meant(call)
    if meant is None:
        return None
    verb, deed, given = meant.verb, meant.deed, meant.given
    before = screen or BrowserState()
    text = safe_text((call.error or call.output)[:_MAX_TEXT])
    answer = read_result(text, failed=call.error is not None, typed=_typed(given))
    target = _target(given, verb, deed, before.names, answer.named)
    opened = target if deed == "open" and not target.startswith("`") else ""
    place = answer.place or opened or before.place
    step = BrowserStep(
        tool=meant.tool,
        verb=verb,
        deed=deed,
        target=target,
        at_ms=to_ms(call.origin.at),
        took_ms=call.duration_ms or 0,
        trouble=_trouble(answer, given, before),
        needs=answer.needs,
        dialog=answer.dialog,
        page=opened or before.place,
        place=place,
        title=answer.title or (before.title if place == before.place else ""),
        files=answer.files,
    )
    return step, _after(before, step, answer)


@record
class _Meant:
    """A call of a screen tool: what it does, by which tool, with what."""

    verb: str
    tool: str
    deed: ActionKind
    given: Mapping[str, Json]


def _meant(call: ToolCalled) -> _Meant | None:
    if call.kind not in (ToolKind.MCP, ToolKind.OTHER):
        return None
    server, verb, tool = _parts(call.name)
    if not (_SERVERS.search(server) or verb in _TELLING or tool == _WRAPPER):
        return None
    given = _given(call.input)
    if tool == _WRAPPER:  # one tool for all that can be done to an Electron application
        verb = tool = str(given.get("command"))
        inside = given.get("args")
        given = inside if isinstance(inside, dict) else {}
    deed = _DEEDS.get(verb) or _DEEDS.get(verb.removeprefix("browser_"))
    return _Meant(verb, tool, deed, given) if deed is not None else None


def _after(before: BrowserState, step: BrowserStep, answer: ToolResult) -> BrowserState:
    """References count until the next snapshot; an old one that is met again means the same."""
    names = dict(answer.names) if answer.names else before.names
    if answer.names and step.place == before.place:
        kept = {ref: name for ref, name in before.names.items() if ref not in names}
        names = dict([*kept.items(), *names.items()][-MAX_NAMES:])
    return BrowserState(
        place=step.place,
        title=step.title,
        names=names,
        blocked=tuple(sorted(answer.blocked)) if answer.names else before.blocked,
    )


def _trouble(answer: ToolResult, given: Mapping[str, Json], before: BrowserState) -> ErrorKind:
    """A tool that only says it waited in vain is met at an element that was out of use."""
    refs = (given.get(name) for name in _REFERENCES)
    if answer.trouble == "not_ready" and any(ref in before.blocked for ref in refs):
        return "disabled"
    return answer.trouble


def _parts(name: str) -> tuple[str, str, str]:
    """The server, the verb and the tool of `mcp__server__tool` and its kin."""
    plain_name = safe_text(name, limit=200).replace("MCP:", "").casefold()
    pieces = [piece for piece in re.split(r"__|[./:]", plain_name) if piece and piece != "mcp"]
    if not pieces:
        return "", "", ""
    verb = pieces[-1].replace("-", "_")
    if len(pieces) == 1 and verb.startswith("mcp_"):
        verb = verb.removeprefix("mcp_")
    for known in _LONGEST_FIRST:
        if verb == known or verb.endswith(f"_{known}"):
            return f"{'_'.join(pieces[:-1])}_{verb[: -len(known)]}", known, verb
    return "_".join(pieces[:-1]), verb, verb


_LONGEST_FIRST = sorted(_DEEDS, key=len, reverse=True)


# -- What was meant -------------------------------------------------------------------------------


def _given(told: str) -> Mapping[str, Json]:
    try:
        fields = cast("Json", json.loads(told)) if told else None
    except ValueError:
        return {}
    return fields if isinstance(fields, dict) else {}


def _parts_of_form(given: Mapping[str, Json]) -> Iterator[Mapping[str, Json]]:
    """The fields of a form that is filled in at once; else the call itself."""
    listed = [
        item for name in _LISTS if isinstance(items := given.get(name), list) for item in items
    ]
    parts = [item for item in listed if isinstance(item, dict)]
    yield from parts[:_MOST_FIELDS] if parts else [given]


def _typed(given: Mapping[str, Json]) -> list[str]:
    """Whatever was typed or chosen: none of it may be kept."""
    values = [part.get(name) for part in _parts_of_form(given) for name in _TYPED]
    flat = [one for value in values for one in (value if isinstance(value, list) else [value])]
    return [value for value in flat if isinstance(value, str)]


def _target(
    given: Mapping[str, Json],
    verb: str,
    deed: ActionKind,
    names: Mapping[str, str],
    named: Sequence[str],
) -> str:
    """The part of the screen that was meant, or the page that was opened."""
    if deed == "open":
        names_place = (*_PLACES, "text") if verb == "navigate_to_hash" else _PLACES
        place = next((v for name in names_place if isinstance(v := given.get(name), str) and v), "")
        return page_path(place) if "/" in place else _quoted(place)
    parts = list(_parts_of_form(given))
    known = [_by_reference(part, names) for part in parts]
    if not all(known) and len(named) == len(parts):
        known = [own or told for own, told in zip(known, named, strict=True)]
    found = [name or _by_words(part, verb) for name, part in zip(known, parts, strict=True)]
    words = ", ".join(_quoted(name) for name in found if name)
    return f"{words} to go" if words and "textGone" in given else words


def _by_reference(part: Mapping[str, Json], names: Mapping[str, str]) -> str:
    refs = (part.get(name) for name in _REFERENCES)
    return next((names[ref] for ref in refs if isinstance(ref, str) and ref in names), "")


def _by_words(part: Mapping[str, Json], verb: str) -> str:
    """What the agent called it; of a tool that types, nothing that could have been typed."""
    shown, keys = () if _TYPES.match(verb) else _SHOWN, _PRESSES.match(verb)
    for name in _KEYS if keys else (*_WORDS[:1], *shown, *_WORDS[1:]):
        value = part.get(name)
        first = value[0] if isinstance(value, list) and value else value
        if not isinstance(first, str) or not first.strip() or _REF.match(first.strip()):
            continue
        if keys and not (_KEY.fullmatch(first) and (name != "text" or "+" in first)):
            continue
        words = safe_text(first, limit=200).strip()
        return _ROLE.sub("", _ROLE.sub("", words)) if name == "element" else words
    return ""


def _quoted(words: str) -> str:
    name = quotable(words, limit=NAME_CHARS)
    return f"`{name}`" if name else ""
