"""Splits a document into front matter and body.

Invariant: the parts joined together are the document, byte for byte. Knows nothing of the contents
of the front matter.
"""

from __future__ import annotations

import codecs
import json
import re
from functools import cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias, Union, cast

from wellkept.core.records import record
from wellkept.core.skills import SkillFinding
from wellkept.core.text import clean
from wellkept.skills.documents.finding_codes import finding

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_DEPTH: Final = 16
_MAX_SKIPPED_DEPTH: Final = 100
_NULLS: Final = frozenset(("", "~", "null", "Null", "NULL"))
_NOT_TEXT = re.compile(
    r"|~|null|Null|NULL|true|True|TRUE|false|False|FALSE"
    r"|[-+]?\d+|0o[0-7]+|0x[0-9a-fA-F]+|[-+]?(\.\d+|\d+(\.\d*)?)([eE][-+]?\d+)?"
    r"|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)"
)
# YAML refuses control characters, and counts some others as line ends, which editors do not.
_NOT_YAML = re.compile("[^\t\n\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class Scalar(NamedTuple):
    """Text; `plain` when it was written without quotes and without `|` or `>`."""

    text: str
    line: int
    plain: bool = True

    @property
    def is_null(self) -> bool:
        """Whether the value is empty or null."""
        return self.plain and self.text in _NULLS

    @property
    def is_text(self) -> bool:
        """Whether every YAML reader takes this for text, and not for a number or a boolean."""
        return not self.plain or _NOT_TEXT.fullmatch(self.text) is None


class Sequence(NamedTuple):
    """A list."""

    items: tuple[Node, ...]
    line: int


class Entry(NamedTuple):
    """A key and its value. `first` and `last` are the indexes of the lines that they take up."""

    key: str
    value: Node
    line: int
    first: int
    last: int


class Mapping(NamedTuple):
    """Keys with values, in the order in which they were written."""

    entries: tuple[Entry, ...]
    line: int

    def get(self, key: str) -> Node | None:
        """The value under a key; the last one if the key occurs twice."""
        return next((entry.value for entry in reversed(self.entries) if entry.key == key), None)


Node: TypeAlias = Union[Scalar, Sequence, Mapping]  # noqa: UP007 - forward references


def as_text(node: Node) -> str:
    """A node as one line for people."""
    if isinstance(node, Scalar):
        return node.text
    if isinstance(node, Sequence):
        return "[" + ", ".join(as_text(item) for item in node.items) + "]"
    return ", ".join(f"{entry.key}: {as_text(entry.value)}" for entry in node.entries)


def quoted(text: str) -> str:
    """Text in double quotes, as every YAML reader takes it."""
    written = json.dumps(text, ensure_ascii=False)
    return _NOT_YAML.sub(lambda char: f"\\u{ord(char[0]):04x}", written)


def read_mapping(lines: list[str], *, first_line: int) -> tuple[Mapping, list[SkillFinding]]:
    """The entries of a front matter, and what is wrong with it. `first_line` is the number of the
    first of the lines in the file."""
    if not any(lines):
        return Mapping((), first_line), []
    import yaml

    try:
        return _YamlReader(lines, first_line).read()
    except yaml.YAMLError:
        from wellkept.skills.documents.yaml_repair import Repair

    repair = Repair(lines, refused_line)
    mapping, findings = _YamlReader(repair.lines, first_line).read()
    found = [
        finding(code, message, line=first_line + index) for code, message, index in repair.changes
    ]
    return mapping, sorted((*found, *findings), key=lambda one: one.line or 0)


def refused_line(lines: list[str]) -> int | None:
    """The index of the line at which PyYAML refuses some lines; None when it reads a mapping."""
    import yaml

    try:
        _YamlReader(lines, 0).read()
    except yaml.MarkedYAMLError as error:
        is_scanning = (error.context or "").startswith("while scanning")
        mark = error.context_mark if is_scanning else error.problem_mark
        return min(mark.line, len(lines) - 1) if mark is not None else 0
    except yaml.YAMLError:
        return 0
    return None


@cache
def _library() -> tuple[Any, Any, Any]:
    """PyYAML's parser, its events and its error; imported on first use."""
    import yaml
    from yaml import events

    # CParser is CBaseLoader without constructors, which are not needed here.
    parser: Any = getattr(getattr(yaml, "cyaml", None), "CParser", yaml.BaseLoader)
    return parser, events, yaml.MarkedYAMLError


class _YamlReader:
    """One pass over the events of PyYAML's parser."""

    def __init__(self, lines: list[str], first_line: int) -> None:
        text = "\n".join(lines) + "\n"
        if not text.replace("\n", "").isprintable():
            text = _NOT_YAML.sub(" ", text)
        self.findings: list[SkillFinding] = []
        self._lines = lines
        self._end = len(lines) - 1
        self._first_line = first_line
        loader, self._kinds, self._error = _library()
        self._next: Callable[[], Any] = loader(text).get_event
        self._last = 0  # the index of the last line that holds something of what was read

    def read(self) -> tuple[Mapping, list[SkillFinding]]:
        """The mapping that the lines hold; YAMLError when they hold anything else."""
        kinds, event = self._kinds, self._skip_to_content()
        if type(event) is kinds.StreamEndEvent:
            return Mapping((), self._first_line), self.findings
        if type(event) is not kinds.MappingStartEvent or event.flow_style:
            raise self._error(problem="not a block mapping", problem_mark=event.start_mark)
        self._check_properties(event)
        mapping = self._mapping(event, depth=1)
        event = self._next()
        if event.explicit or type(self._next()) is not kinds.StreamEndEvent:
            raise self._error(problem="a document end", problem_mark=event.start_mark)
        return Mapping(mapping.entries, self._first_line), self.findings

    def _skip_to_content(self) -> Any:
        self._next()
        event = self._next()
        if type(event) is self._kinds.DocumentStartEvent:
            if event.explicit:
                raise self._error(problem="a document start", problem_mark=event.start_mark)
            return self._next()
        return event

    def _report(self, code: str, message: str, event: Any) -> None:
        line = self._first_line + event.start_mark.line
        self.findings.append(finding(code, message, line=line))

    def _node(self, event: Any, *, depth: int) -> Node:
        kinds = self._kinds
        if isinstance(event, kinds.ScalarEvent):
            return self._scalar(event)
        if isinstance(event, kinds.AliasEvent):
            name = f"*{event.anchor}"
            self._report("yaml-reference", f"{name!r} is not followed; quote the text.", event)
            self._last = event.start_mark.line
            return Scalar(name, self._first_line + event.start_mark.line)
        self._check_properties(event)
        if depth > MAX_DEPTH:
            return self._too_deep(event)
        if isinstance(event, kinds.SequenceStartEvent):
            return self._sequence(event, depth=depth)
        return self._mapping(event, depth=depth)

    def _scalar(self, event: Any) -> Scalar:
        if event.anchor or event.tag:
            self._check_properties(event)
        style: str = event.style
        first: int = event.start_mark.line
        last: int = event.end_mark.line
        if last > first:
            if style in ("|", ">"):  # ends where the next line with text begins
                last -= not event.end_mark.column
                while last > first and not self._lines[last].strip():
                    last -= 1
            elif style:
                self._check_margin(event)
        self._last = min(last, self._end)
        text: str = event.value
        return Scalar(
            text if text.isprintable() else clean(text), self._first_line + first, not style
        )

    def _check_margin(self, event: Any) -> None:
        """PyYAML takes quoted text that goes on at the left margin; other readers do not."""
        further = self._lines[event.start_mark.line + 1 : event.end_mark.line + 1]
        if any(line[:1].strip() for line in further):
            self._report("yaml-indent", "Indent the further lines of a quoted text.", event)

    def _check_properties(self, event: Any) -> None:
        if event.anchor or event.tag:
            name = f"&{event.anchor}" if event.anchor else event.tag
            self._report("yaml-reference", f"{name!r} is ignored: no tags, no anchors.", event)

    def _sequence(self, start: Any, *, depth: int) -> Sequence:
        items: list[Node] = []
        while type(event := self._next()) is not self._kinds.SequenceEndEvent:
            items.append(self._node(event, depth=depth + 1))
        self._close(start, event)
        return Sequence(tuple(items), self._first_line + start.start_mark.line)

    def _mapping(self, start: Any, *, depth: int) -> Mapping:
        entries: list[Entry] = []
        seen: set[str] = set()
        next_event, node, first_line = self._next, self._node, self._first_line
        end, keys = self._kinds.MappingEndEvent, (self._kinds.ScalarEvent, self._kinds.AliasEvent)
        while type(event := next_event()) is not end:
            if type(event) not in keys:  # as in `{{placeholder}}`
                raise self._error(problem="a key that is no text", problem_mark=event.start_mark)
            key, line, _ = cast("Scalar", node(event, depth=depth + 1))
            if key in seen:
                self._report("yaml-twice", f"The key {key!r} occurs twice; the last counts.", event)
            seen.add(key)
            value = node(next_event(), depth=depth + 1)
            first = min(line - first_line, self._end)
            entries.append(Entry(key, value, line, first, self._last))
        self._close(start, event)
        return Mapping(tuple(entries), self._first_line + start.start_mark.line)

    def _close(self, start: Any, end: Any) -> None:
        if start.flow_style:
            self._last = end.end_mark.line

    def _too_deep(self, start: Any) -> Scalar:
        self._report("yaml-deep", f"More than {MAX_DEPTH} levels; this part is ignored.", start)
        starts = (self._kinds.SequenceStartEvent, self._kinds.MappingStartEvent)
        ends = (self._kinds.SequenceEndEvent, self._kinds.MappingEndEvent)
        open_levels = 1
        while open_levels:
            event = self._next()
            open_levels += isinstance(event, starts) - isinstance(event, ends)
            if open_levels > _MAX_SKIPPED_DEPTH and start.flow_style:  # takes the square of it
                raise self._error(problem="too many brackets", problem_mark=start.start_mark)
            self._last = max(self._last, event.start_mark.line)
        return Scalar("", self._first_line + start.start_mark.line)


# -- Front matter and body ------------------------------------------------------------------------


MAX_DOCUMENT_BYTES: Final = 1 << 20
MAX_HEAD_CHARS: Final = 64 << 10
_OPEN = re.compile(r"\s*---[ \t]*\r?\n")
_CLOSE = re.compile(r"^---[ \t]*\r?$", re.MULTILINE)
_WIDE_MARKS: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


@record
class DocumentParts:
    """A document in parts. Without front matter `opening`, `head` and `closing` are empty."""

    bom: str
    opening: str
    head: str
    closing: str
    body: str
    findings: tuple[SkillFinding, ...] = ()

    @property
    def has_head(self) -> bool:
        """Whether there is a front matter, even an empty one."""
        return bool(self.opening)

    @property
    def text(self) -> str:
        """The whole document."""
        return self.bom + self.opening + self.head + self.closing + self.body

    @property
    def newline(self) -> str:
        """The line end of this document."""
        return "\r\n" if "\r\n" in (self.opening + self.body[:4096]) else "\n"

    @property
    def head_lines(self) -> list[str]:
        """The lines of the front matter, without line ends."""
        return self.head.replace("\r\n", "\n").removesuffix("\n").split("\n") if self.head else []

    @property
    def head_line(self) -> int:
        """The line number at which the front matter starts."""
        return 1 + self.opening.count("\n")

    @property
    def body_line(self) -> int:
        """The line number at which the body starts."""
        above = self.opening + self.head + self.closing
        return 1 + above.count("\n")

    @property
    def plain_body(self) -> str:
        """The body with plain line ends, without empty lines around it."""
        body = self.body.replace("\r\n", "\n") if "\r" in self.body else self.body
        return body.strip()


def decode(data: bytes) -> tuple[str, list[SkillFinding]]:
    """The text of a file. Invalid UTF-8 is a finding; the text is decoded as far as possible."""
    if data.startswith(_WIDE_MARKS):
        text = data.decode("utf-16", errors="replace")
        return clean(text), [finding("encoding", "The file is UTF-16; save it as UTF-8.", line=1)]
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = 1 + data.count(b"\n", 0, error.start)
        message = f"Byte {data[error.start]:#04x} is not UTF-8; save the file as UTF-8."
        return clean(data.decode("utf-8", errors="replace")), [
            finding("encoding", message, line=line)
        ]
    if "\0" in text:
        line = 1 + text.count("\n", 0, text.index("\0"))
        return clean(text), [finding("encoding", "The text contains a NUL character.", line=line)]
    return text, []


def split_document(text: str) -> DocumentParts:
    """Find the fences. A front matter that is not closed, or is too large, counts as body."""
    bom = "\ufeff" if text.startswith("\ufeff") else ""
    opening = _OPEN.match(text, len(bom))
    if opening is None:
        return DocumentParts(bom, "", "", "", text[len(bom) :])
    closing = _CLOSE.search(text, opening.end())
    if closing is None:
        return _headless(bom, text, "fence", "The front matter has no closing `---` line.")
    if closing.start() - opening.end() > MAX_HEAD_CHARS:
        message = f"The front matter is longer than {MAX_HEAD_CHARS:,} characters; it is not read."
        return _headless(bom, text, "head-size", message)
    end = closing.end() + text.startswith("\n", closing.end())
    head = text[opening.end() : closing.start()]
    return DocumentParts(bom, opening.group(), head, text[closing.start() : end], text[end:])


def _headless(bom: str, text: str, code: str, message: str) -> DocumentParts:
    return DocumentParts(bom, "", "", "", text[len(bom) :], (finding(code, message, line=1),))
