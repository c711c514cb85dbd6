"""Reads calls of browser and desktop tools as steps.

Tools are recognised by the name of their server or by an unambiguous verb. A step says what was
done to which element, on which page, with what result. Elements get the names of the latest
snapshot, so a step reads the same however the agent describes it. Typed text is never kept. Does
not interpret steps.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, TypeAlias, cast

from wellkept.core.clock import to_ms
from wellkept.core.codec import Json
from wellkept.core.records import field, record
from wellkept.core.session.events import ToolCalled, ToolKind
from wellkept.text.events.sanitize import safe_text
from wellkept_plugins.browser.tool_results import (
    MAX_NAMES,
    NAME_CHARS,
    ErrorKind,
    ToolResult,
    page_path,
    quotable,
    read_result,
)

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
_KINDS: Mapping[str, ActionKind] = {
    verb: kind for kind, verbs in _VERBS.items() for verb in verbs.split()
}
_UNAMBIGUOUS = frozenset(
    "take_screenshot click_by_text fill_input get_page_structure send_keyboard_shortcut"
    " browser_click browser_navigate browser_snapshot".split()
)
_TYPES = re.compile(r"^(?:type|fill|send_keys|keyboard|select|upload|file_upload|drop)")
_PRESSES = re.compile(r"^(?:press|send_keyboard)")
_REFERENCES = ("target", "ref", "uid", "startTarget", "from_uid")
_DESCRIPTIONS = (
    "element", "label", "placeholder", "name", "startElement", "selector", "locator", "target",
)  # fmt: skip
_VISIBLE_TEXT = ("text", "textGone")  # visible text, for tools that do not type
_KEYS = ("key", "shortcut", "text")
_WRAPPER = "send_command_to_electron"
_PAGE_ARGUMENTS = ("url", "page", "app", "path")
_TYPED_ARGUMENTS = ("text", "value", "values", "key", "promptText")
_FORM_ARGUMENTS = ("fields", "elements")
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
    """One action on a running application. `page` is the page before it, `place` the page after.

    `tool` is the full tool name, `verb` what it does.
    """

    tool: str
    verb: str
    kind: ActionKind
    target: str
    at_ms: int
    took_ms: int = 0
    error: ErrorKind = "none"
    needs: str = ""
    dialog: str = ""
    page: str = ""
    place: str = ""
    title: str = ""
    files: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether it worked."""
        return self.error == "none"

    @property
    def action(self) -> str:
        """The action as text; equal actions have equal text."""
        if self.kind == "open":
            return f"open {self.target}".strip()
        verb = re.sub(r"^browser_|_by_\w+$|_(?:element|input|page|option|text)$", "", self.verb)
        return f"{verb.replace('_', ' ')} {self.target}".strip()


@record(kw_only=True)
class BrowserState:
    """The page between two steps: its address, element names by reference, and disabled ones."""

    place: str = ""
    title: str = ""
    names: dict[str, str] = field(default_factory=dict[str, str])
    blocked: tuple[str, ...] = ()


def is_browser_call(call: ToolCalled) -> bool:
    """Whether a tool call is a browser or desktop action."""
    return _parse_call(call) is not None


def read_step(
    call: ToolCalled, state: BrowserState | None = None
) -> tuple[BrowserStep, BrowserState] | None:
    """The step of a tool call and the state after it; None for other tools."""
    parsed = _parse_call(call)
    if parsed is None:
        return None
    verb, kind, arguments = parsed.verb, parsed.kind, parsed.arguments
    before = state or BrowserState()
    text = safe_text((call.error or call.output)[:_MAX_TEXT])
    answer = read_result(text, failed=call.error is not None, typed=_typed(arguments))
    target = _target(arguments, verb, kind, before.names, answer.named)
    opened = target if kind == "open" and not target.startswith("`") else ""
    place = answer.place or opened or before.place
    step = BrowserStep(
        tool=parsed.tool,
        verb=verb,
        kind=kind,
        target=target,
        at_ms=to_ms(call.origin.at),
        took_ms=call.duration_ms or 0,
        error=_error(answer, arguments, before),
        needs=answer.needs,
        dialog=answer.dialog,
        page=opened or before.place,
        place=place,
        title=answer.title or (before.title if place == before.place else ""),
        files=answer.files,
    )
    return step, _after(before, step, answer)


@record
class _Call:
    """A parsed tool call."""

    verb: str
    tool: str
    kind: ActionKind
    arguments: Mapping[str, Json]


def _parse_call(call: ToolCalled) -> _Call | None:
    if call.kind not in (ToolKind.MCP, ToolKind.OTHER):
        return None
    server, verb, tool = _parts(call.name)
    if not (_SERVERS.search(server) or verb in _UNAMBIGUOUS or tool == _WRAPPER):
        return None
    arguments = _arguments(call.input)
    if tool == _WRAPPER:  # one tool that wraps every Electron command
        verb = tool = str(arguments.get("command"))
        inside = arguments.get("args")
        arguments = inside if isinstance(inside, dict) else {}
    kind = _KINDS.get(verb) or _KINDS.get(verb.removeprefix("browser_"))
    return _Call(verb, tool, kind, arguments) if kind is not None else None


def _after(before: BrowserState, step: BrowserStep, answer: ToolResult) -> BrowserState:
    """References are valid until the next snapshot of another page."""
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


def _error(answer: ToolResult, arguments: Mapping[str, Json], before: BrowserState) -> ErrorKind:
    """A timeout at a disabled element counts as disabled."""
    refs = (arguments.get(name) for name in _REFERENCES)
    if answer.error == "not_ready" and any(ref in before.blocked for ref in refs):
        return "disabled"
    return answer.error


def _parts(name: str) -> tuple[str, str, str]:
    """The server, verb and tool of names such as `mcp__server__tool`."""
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


_LONGEST_FIRST = sorted(_KINDS, key=len, reverse=True)


# -- Arguments ------------------------------------------------------------------------------------


def _arguments(text: str) -> Mapping[str, Json]:
    try:
        fields = cast("Json", json.loads(text)) if text else None
    except ValueError:
        return {}
    return fields if isinstance(fields, dict) else {}


def _form_fields(arguments: Mapping[str, Json]) -> Iterator[Mapping[str, Json]]:
    """The fields of a form filled in by one call; else the arguments themselves."""
    listed = [
        item
        for name in _FORM_ARGUMENTS
        if isinstance(items := arguments.get(name), list)
        for item in items
    ]
    parts = [item for item in listed if isinstance(item, dict)]
    yield from parts[:_MOST_FIELDS] if parts else [arguments]


def _typed(arguments: Mapping[str, Json]) -> list[str]:
    """Typed or selected values; none of them may be kept."""
    values = [part.get(name) for part in _form_fields(arguments) for name in _TYPED_ARGUMENTS]
    flat = [one for value in values for one in (value if isinstance(value, list) else [value])]
    return [value for value in flat if isinstance(value, str)]


def _target(
    arguments: Mapping[str, Json],
    verb: str,
    kind: ActionKind,
    names: Mapping[str, str],
    named: Sequence[str],
) -> str:
    """The element acted on, or the page opened."""
    if kind == "open":
        page_arguments = (
            (*_PAGE_ARGUMENTS, "text") if verb == "navigate_to_hash" else _PAGE_ARGUMENTS
        )
        place = next(
            (v for name in page_arguments if isinstance(v := arguments.get(name), str) and v), ""
        )
        return page_path(place) if "/" in place else _quoted(place)
    parts = list(_form_fields(arguments))
    known = [_by_reference(part, names) for part in parts]
    if not all(known) and len(named) == len(parts):
        known = [own or text for own, text in zip(known, named, strict=True)]
    found = [name or _by_words(part, verb) for name, part in zip(known, parts, strict=True)]
    words = ", ".join(_quoted(name) for name in found if name)
    return f"{words} to go" if words and "textGone" in arguments else words


def _by_reference(part: Mapping[str, Json], names: Mapping[str, str]) -> str:
    refs = (part.get(name) for name in _REFERENCES)
    return next((names[ref] for ref in refs if isinstance(ref, str) and ref in names), "")


def _by_words(part: Mapping[str, Json], verb: str) -> str:
    """The agent's description; for typing tools, nothing that could have been typed."""
    shown, keys = () if _TYPES.match(verb) else _VISIBLE_TEXT, _PRESSES.match(verb)
    for name in _KEYS if keys else (*_DESCRIPTIONS[:1], *shown, *_DESCRIPTIONS[1:]):
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
