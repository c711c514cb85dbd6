"""What an agent does to a running application through a browser or desktop tool, step by step.

Tools are known by rule: by the server they come from, or by a verb that nothing else has. A step
keeps what was done to which part of the screen and what came back in one line; what was typed is
never kept. Knows nothing of what steps mean.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Literal, TypeAlias, cast
from urllib.parse import urlsplit

from holdfast.core.clock import to_ms
from holdfast.core.codec import Json
from holdfast.core.events import ToolCalled, ToolKind
from holdfast.core.records import record
from holdfast.core.text import shorten
from holdfast.observe.cleaning import safe_text

Deed: TypeAlias = Literal["open", "act", "look", "wait"]

_SERVERS = re.compile(
    r"playwright|puppeteer|browser|chrome|devtools|electron|selenium|webdriver|cypress|appium"
    r"|desktop|computer[-_]use|screen|simulator|webkit|firefox|maestro",
    re.IGNORECASE,
)
_VERBS: Mapping[Deed, str] = {
    "open": "navigate navigate_page goto open_page new_page open_url launch launch_app start_app"
    " restart_app reload",
    "act": "click click_by_text click_by_selector click_element double_click tap press press_key"
    " send_keyboard_shortcut send_keys keyboard fill fill_input fill_form type type_text select"
    " select_option select_dropdown hover drag upload upload_file file_upload check uncheck"
    " handle_dialog swipe scroll",
    "look": "take_screenshot screenshot snapshot take_snapshot get_page_structure page_structure"
    " get_text get_content console_messages list_console_messages network_requests eval evaluate"
    " evaluate_script verify_page_structure assert find_element",
    "wait": "wait wait_for wait_for_selector wait_for_text sleep",
}
_DEEDS: Mapping[str, Deed] = {
    verb: deed for deed, verbs in _VERBS.items() for verb in verbs.split()
}
_TELLING = frozenset(
    "take_screenshot click_by_text fill_input get_page_structure send_keyboard_shortcut"
    " browser_click browser_navigate browser_snapshot".split()
)
_TARGETS = ("element", "text", "label", "name", "selector", "locator", "key", "shortcut")
_PLACES = ("url", "page", "app", "path")
_REFS = re.compile(r"^[a-z]{0,2}\d+(?:_\d+)*$")
_TOLD = re.compile(
    r"error|fail|timeout|timed out|not (?:visible|found|enabled|stable|attached|yet)|disabled"
    r"|dialog|required|requires|must|please|refused|unauthor|forbidden|loading|animat|intercept"
    r"|strict mode|closed|destroyed|read-?only|log ?in|sign ?in",
    re.IGNORECASE,
)
_FAILED = re.compile(
    r"^(?:#+ ?)?(?:\w*error|failed|exception)\b[ \t]*(?::|$)", re.IGNORECASE | re.MULTILINE
)
_URL = re.compile(r"(?:page url|url|location)\W{1,4}(\S+)", re.IGNORECASE)
_TITLE = re.compile(r"(?:page )?title\W{1,4}([^\n]{1,120})", re.IGNORECASE)
_FILE = re.compile(r"(?<![\w/.-])((?:[\w.-]+/)+[\w.-]+\.(?:tsx|jsx|ts|js|vue|svelte|html|css))\b")
_MAX_TEXT = 20_000
_HEAD = 600  # what failed is told at the beginning; a page may speak of errors further down
_MAX_LINE = 200


@record
class ScreenStep:
    """One thing done to a running application. `told` is the line of the answer that tells most;
    `place` and `title` are where the application stood afterwards, when the answer says so."""

    verb: str
    deed: Deed
    target: str
    ok: bool
    at_ms: int
    told: str = ""
    place: str = ""
    title: str = ""
    files: tuple[str, ...] = ()

    @property
    def action(self) -> str:
        """What was done, for people and for telling actions apart."""
        verb = re.sub(r"^browser_|_by_\w+$|_(?:element|input|page|option|text)$", "", self.verb)
        return f"{verb.replace('_', ' ')} {self.target}".strip()


def read_step(call: ToolCalled) -> ScreenStep | None:
    """The step that a tool call is; None when it has nothing to do with a screen."""
    if call.kind not in (ToolKind.MCP, ToolKind.OTHER):
        return None
    server, verb = _parts(call.name)
    deed = _DEEDS.get(verb) or _DEEDS.get(verb.removeprefix("browser_"))
    if deed is None or not (_SERVERS.search(server) or verb in _TELLING):
        return None
    answer = safe_text((call.error or call.output)[:_MAX_TEXT])
    failed = call.error is not None or _FAILED.search(answer[:_HEAD]) is not None
    place, title = _URL.search(answer), _TITLE.search(answer)
    return ScreenStep(
        verb=verb,
        deed=deed,
        target=_target(call.input, deed),
        ok=not failed,
        at_ms=to_ms(call.origin.at),
        told=_telling_line(answer),
        place=_path(place[1]) if place else "",
        title=title[1].strip(" *\"'") if title else "",
        files=tuple(dict.fromkeys(_FILE.findall(answer)))[:3],
    )


def _parts(name: str) -> tuple[str, str]:
    """The server and the verb of `mcp__server__verb` and its kin."""
    plain = name.replace("MCP:", "").casefold()
    pieces = [piece for piece in re.split(r"__|[./:]", plain) if piece and piece != "mcp"]
    if not pieces:
        return "", ""
    verb = pieces[-1].replace("-", "_")
    if len(pieces) == 1 and verb.startswith("mcp_"):
        verb = verb.removeprefix("mcp_")
    for known in sorted(_DEEDS, key=len, reverse=True):
        if verb == known or verb.endswith(f"_{known}"):
            return f"{'_'.join(pieces[:-1])}_{verb[: -len(known)]}", known
    return "_".join(pieces[:-1]), verb


def _target(given: str, deed: Deed) -> str:
    """The part of the screen that was meant: by its words where there are some."""
    try:
        fields = cast("Json", json.loads(given)) if given else None
    except ValueError:
        return ""
    if not isinstance(fields, dict):
        return ""
    names = (*_PLACES, *_TARGETS) if deed == "open" else (*_TARGETS, *_PLACES)
    for name in names:
        value = fields.get(name)
        if isinstance(value, str) and value.strip() and not _REFS.match(value.strip()):
            plain = " ".join(safe_text(value, limit=_MAX_LINE).split())
            return _path(plain) if name == "url" else f"`{shorten(plain, limit=80)}`"
    return ""


def _path(url: str) -> str:
    """An address without its server, question and numbers, which differ from run to run."""
    try:
        parts = urlsplit(url.strip("\"'<>),"))
    except ValueError:
        return ""
    routed = parts.fragment.startswith(("/", "!"))
    path = f"/{parts.fragment.lstrip('/!')}" if routed else parts.path or "/"
    return re.sub(r"/[0-9a-f-]*\d[0-9a-f-]*(?=/|$)", "/N", path)[:120]


def _telling_line(answer: str) -> str:
    lines = (" ".join(line.split()) for line in answer.split("\n"))
    return next((shorten(line, limit=_MAX_LINE) for line in lines if _TOLD.search(line)), "")
