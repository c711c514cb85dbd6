"""Parses results of browser and desktop tools: page, element names, kind of error.

Results echo typed text and quote pages, so only this is kept: shortened names and titles, an error
kind from a fixed list, and a sentence that names a requirement when the tool or an alert states it.
Tested against recordings of real servers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Literal, TypeAlias
from urllib.parse import urlsplit

from wellkept.core.records import field, record
from wellkept.core.text import shorten

ErrorKind: TypeAlias = Literal[
    "none", "failed", "stale", "ambiguous", "dialog", "closed", "key", "no_browser", "refused",
    "covered", "read_only", "disabled", "hurried", "moving", "not_ready",
]  # fmt: skip
MAX_NAMES = 200
NAME_CHARS = 60
_SENTENCE_CHARS = 120
_MESSAGE_CHARS = 300  # shorter text is from the tool; longer text contains a page
_HEAD_CHARS = 600
_ALERT_LINES = 5

_ERROR_PATTERNS: tuple[tuple[ErrorKind, str], ...] = (
    (
        "stale",
        r"\bref \S+ not found|\buid \S+ not found|stale (?:element|snapshot|ref)"
        r"|not attached to the dom|no node with given id",
    ),
    ("ambiguous", r"strict mode violation|resolved to \d+ elements"),
    (
        "dialog",
        r"does not handle the modal state|unexpected alert open|dialog is (?:already )?open",
    ),
    (
        "closed",
        r"target (?:page|closed|crashed)|browser (?:has been|was|is) (?:closed|disconnected)"
        r"|no open pages?|no page found|session closed|execution context was destroyed",
    ),
    ("key", r"unknown key|valid keys are|unsupported key"),
    ("no_browser", r"npx playwright install|executable doesn't exist|could not find chrom"),
    ("refused", r"err_connection_refused|econnrefused|connection refused"),
    ("hurried", r"too soon after (?:the )?(?:previous|last)"),
    ("covered", r"intercepts pointer events|would receive the click"),
    ("read_only", r"not editable|read-?only"),
    ("disabled", r"not enabled|is disabled|aria-disabled"),
    ("moving", r"not stable|(?:is|still) (?:loading|animating|opening|rendering)"),
    ("not_ready", r"not (?:visible|attached|yet)|not become interactive|timed? ?out"),
)
_ERRORS: tuple[tuple[ErrorKind, re.Pattern[str]], ...] = tuple(
    (name, re.compile(pattern, re.IGNORECASE)) for name, pattern in _ERROR_PATTERNS
)
_FAILED = re.compile(
    r"^(?:#+ ?)?(?:(?:\w*error|failed|exception)\b[ \t]*(?::|$)|(?:unable|failed) to |could not "
    r"|\w+ not found\b)",
    re.IGNORECASE | re.MULTILINE,
)
# Prefix of every Electron server result, failures included.
_SUCCESS_PREFIX = re.compile(r"\A(?:✅ (?:Result|Command \w+): )+")
_NEEDS = re.compile(
    r"(?:log ?in|sign ?in|authentication) (?:is )?required|not (?:logged|signed) in"
    r"|please (?:log|sign) in|unauthori[sz]ed|forbidden"
    r"|(?:server|service|backend|app(?:lication)?) (?:is )?not (?:running|started|reachable)"
    r"|requires? [^.]{1,80}|must (?:be|have|first) [^.]{1,80}"
    r"|please (?:enable|start|configure|select|choose|add|connect) [^.]{1,80}"
    r"|[^.]{1,60} (?:is|are) (?:required|needed) (?:first|before)[^.]{0,40}",
    re.IGNORECASE,
)
_DIALOG = re.compile(
    r"\bdialog with message \"([^\"\n]{1,300})"
    r"|^# Open dialog\n\w+: ([^\n]{1,300}?)\.?$"
    r"|\b(?:dialog|alert)\b[^\"“\n]{0,60}[\"“]([^\"”\n]{3,300})",
    re.IGNORECASE | re.MULTILINE,
)
_PLACES = re.compile(
    r"^- Page URL: (?P<a>\S+)(?:\n- Page Title: (?P<a_title>[^\n]+))?"
    r"|RootWebArea \"(?P<b_title>[^\"\n]*)\" url=\"(?P<b>[^\"\s]+)"
    r"|^\d+: (?P<c_title>.*) \((?P<c>\S+)\) \[selected\]$"
    r"|Page navigated to (?P<d>\S+)"
    r"|\b(?:url|location)\W{1,4}(?P<e>[a-z]+://\S+)"
    r"|\A(?P<g>https?://\S+)\s*\Z"
    r"|\btitle\W{1,4}(?P<f_title>[^\n]{1,120})",
    re.IGNORECASE | re.MULTILINE,
)
_QUOTED = r"\"(?P<name>(?:[^\"\\]|\\.)*)\""
_ELEMENTS = re.compile(
    rf"^ *(?:- '?[\w-]+(?: {_QUOTED})?[^\n]*\[ref=(?P<ref>\w+)\](?P<rest>[^\n]*)"
    rf"|uid=(?P<uid>\w+) \w+ {_QUOTED.replace('name', 'words')}(?P<more>[^\n]*))$",
    re.MULTILINE,
)
_BLOCKED = re.compile(r"\[(?:disabled|readonly)\]|\b(?:disabled|readonly)\b")
_ALERT = re.compile(r"^(?P<depth> *)(?:- |uid=\w+ )(?:alert|alertdialog|status)\b(?P<rest>.*)$")
_QUOTED_TEXT = re.compile(r"\"((?:[^\"\\]|\\.)+)\"|: (?!/)([^\n]+)$")
_CODE = re.compile(r"^```js\n(.*?)^```", re.DOTALL | re.MULTILINE)
_LOCATED = re.compile(
    r"getBy\w+\('((?:[^'\\]|\\.)*)'(?:, \{ name: '((?:[^'\\]|\\.)*)')?"
    r"|locator resolved to <\w+[^<>]*>([^<>\n]{1,200})</"
)
_CLICKED = re.compile(
    r"\A(?:Successfully (?:clicked element|filled input)|Failed to click element)[^\"\n]{0,160}"
    r"\"([^\"\n]{1,200})\""
)
_FILE = re.compile(
    r"(?:https?://(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?/|(?<![\w/.:-]))"
    r"((?:[\w.@-]+/)+[\w.-]+\.(?:tsx|jsx|ts|js|mjs|vue|svelte|astro|html|css))\b"
)
_LOCAL_HOST = re.compile(r"|localhost|127(?:\.\d+){3}|0\.0\.0\.0|::1|.*\.(?:localhost|local|test)")
_TAG = re.compile(r"<[^<>\n]{0,200}>?")
_PROMPT_INJECTION = re.compile(
    r"\b(?:ignore|disregard|override|forget)\b.{0,40}\b(?:instruct|previous|prior|above|rules?)"
    r"|\b(?:system prompt|you are now|curl|wget|sudo|powershell|base64)\b|\w://|[|;$]\s*(?:ba|z)?sh\b",
    re.IGNORECASE,
)
_NUMBERS = re.compile(r"\b\d+(?:\.\d+)?(?:\s?ms|\s?s)?\b")


@record(kw_only=True)
class ToolResult:
    """A parsed result. `named` are the elements that the call acted on; `names` maps the current
    references to element names."""

    error: ErrorKind = "none"
    needs: str = ""
    dialog: str = ""
    place: str = ""
    title: str = ""
    named: tuple[str, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict[str, str])
    blocked: frozenset[str] = frozenset()
    files: tuple[str, ...] = ()


def read_result(text: str, *, failed: bool, typed: Iterable[str] = ()) -> ToolResult:
    """Parse a sanitised text; nothing in `typed` gets into the result."""
    text, failed = _SUCCESS_PREFIX.sub("", text), failed or "❌" in text[:_HEAD_CHARS]
    failed = failed or _FAILED.search(text[:_HEAD_CHARS]) is not None
    elements = list(_ELEMENTS.finditer(text))
    place, title = _place(text)
    dialog = _DIALOG.search(text) if not elements else None
    return ToolResult(
        error=_error_kind(text) if failed else "none",
        needs=_without(typed, _needs(text, failed=failed)),
        dialog=_without(typed, quotable(_first(dialog.groups()))) if dialog else "",
        place=place,
        title=_without(typed, title),
        named=_named(text, failed=failed),
        names=_names(elements),
        blocked=frozenset(_ref(e) for e in elements if _is_blocked(e)),
        files=tuple(dict.fromkeys(_FILE.findall(text)))[:3],
    )


def quotable(text: str, *, limit: int = _SENTENCE_CHARS) -> str:
    """Page text that may be quoted: one line, numbers replaced, shortened. Empty when the text
    looks like instructions to an agent."""
    if _PROMPT_INJECTION.search(text):
        return ""
    plain = _NUMBERS.sub("N", _TAG.sub(" ", text).replace("\\", ""))
    plain = plain.replace("`", "'").replace('"', "'")
    return shorten(" ".join(plain.split()), limit=limit).strip(" .:;-#")


def page_path(url: str) -> str:
    """An address without query and ids, which differ between runs, and without a local host.
    Empty for internal browser pages."""
    try:
        parts = urlsplit(url.strip("\"'<>),"))
        host = parts.hostname or ""
    except ValueError:
        return ""
    if parts.scheme in ("about", "chrome-error", "data"):
        return ""
    routed = parts.fragment.startswith(("/", "!"))
    path = f"/{parts.fragment.lstrip('/!')}" if routed else parts.path.rstrip(".") or "/"
    path = re.sub(r"/[0-9a-f-]*\d[0-9a-f-]*(?=/|$)", "/N", path)
    return quotable_path(path if _LOCAL_HOST.fullmatch(host) else f"{host}{path}")


def quotable_path(path: str) -> str:
    """An address that may be quoted."""
    return "".join(path.split()).replace("`", "'").replace('"', "'")[:120]


# -- Parts ----------------------------------------------------------------------------------------


def _error_kind(text: str) -> ErrorKind:
    for name, known in _ERRORS:
        if known.search(text):
            return name
    return "failed"


def _place(text: str) -> tuple[str, str]:
    places: list[str] = []
    titles: list[str] = []
    for found in _PLACES.finditer(text):
        for name, value in found.groupdict().items():
            if value:
                (titles if name.endswith("title") else places).append(value)
    path = _first([page_path(place) for place in places])
    return path, quotable(titles[0].strip(" *\"',"), limit=80) if titles else ""


def _needs(text: str, *, failed: bool) -> str:
    """A stated requirement: from a failed or short result, or from an alert."""
    stated = text if failed or len(text) < _MESSAGE_CHARS else "\n".join(_alerts(text))
    found = _NEEDS.search(stated)
    return quotable(found[0]) if found else ""


def _alerts(text: str) -> Iterable[str]:
    lines = text.split("\n")
    for number, line in enumerate(lines):
        alert = _ALERT.match(line)
        if alert is None:
            continue
        parts = [alert["rest"]]
        for deeper in lines[number + 1 : number + 1 + _ALERT_LINES]:
            if len(deeper) - len(deeper.lstrip()) <= len(alert["depth"]):
                break
            parts.append(deeper)
        stated = (found.groups() for part in parts for found in _QUOTED_TEXT.finditer(part))
        yield " ".join(map(_first, stated))


def _named(text: str, *, failed: bool) -> tuple[str, ...]:
    """The elements that a call acted on, from the code that the tool reports."""
    code = text if failed else "\n".join(_CODE.findall(text))
    words = [found[2] or found[1] or found[3] for found in _LOCATED.finditer(code)]
    if clicked := _CLICKED.match(text):
        words = [clicked[1]]
    return tuple(dict.fromkeys(quotable(word or "", limit=NAME_CHARS) for word in words))[:8]


def _names(elements: Iterable[re.Match[str]]) -> dict[str, str]:
    found: dict[str, str] = {}
    for element in elements:
        after = element["rest"].rpartition(": ")[2] if element["rest"] else ""
        name = quotable(element["name"] or element["words"] or after, limit=NAME_CHARS)
        if name and len(found) < MAX_NAMES:
            found[_ref(element)] = name
    return found


def _ref(element: re.Match[str]) -> str:
    return element["ref"] or element["uid"]


def _is_blocked(element: re.Match[str]) -> bool:
    attributes = element[0].replace(f'"{element["name"] or element["words"] or ""}"', "")
    return _BLOCKED.search(attributes) is not None


def _first(words: Iterable[str | None]) -> str:
    return next((word for word in words if word), "")


def _without(typed: Iterable[str], stated: str) -> str:
    return "" if any(len(word) > 2 and word in stated for word in typed) else stated
