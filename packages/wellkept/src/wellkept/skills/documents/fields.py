"""Front matter as typed values: text, flags, lists and numbers, with any spelling of a key.

`allowed-tools`, `allowed_tools` and `allowedTools` are one field. A value of the wrong type is a
finding and is ignored; unknown fields are preserved as written.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from wellkept.core.skills import SkillFinding
from wellkept.core.text import estimate_tokens
from wellkept.skills.documents.finding_codes import finding
from wellkept.skills.documents.front_matter import Entry, Mapping, Node, Scalar, Sequence, as_text

SPEC_FIELDS: Final = frozenset(
    ("name", "description", "license", "compatibility", "metadata", "allowed_tools")
)
"""The fields of the Agent Skills specification."""

KNOWN_FIELDS: Final = SPEC_FIELDS | frozenset(
    """version when_to_use tags user_invocable disable_model_invocation argument_hint aliases model
    context agent base_dir hooks detect inject_into priority reminders sparse_reminder
    normal_reminder detailed_reminder globs paths""".split()
)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_TOOL = re.compile(r"[^\s,(]+(?:\([^)]*\))?")
_GLOB = re.compile(r"(?:[^\s,{}]|\{[^{}]*\})+")
_YES: Final = frozenset(("true", "yes", "on", "1"))
_NO: Final = frozenset(("false", "no", "off", "0"))


@lru_cache(maxsize=1024)
def canonical(key: str) -> str:
    """The canonical spelling of a key: lower case, words joined by underscores."""
    return _CAMEL.sub("_", key.strip()).replace("-", "_").replace(" ", "_").lower()


class Fields:
    """The fields of one front matter. Reading a field may add to `findings`."""

    def __init__(self, mapping: Mapping, lines: list[str]) -> None:
        self.findings: list[SkillFinding] = []
        self._lines = lines
        self._known: dict[str, Entry] = {}
        self._unknown: list[Entry] = []
        for entry in mapping.entries:
            name = canonical(entry.key)
            if name not in KNOWN_FIELDS:
                self._unknown.append(entry)
                continue
            earlier = self._known.get(name)
            if earlier is not None and earlier.key != entry.key:
                self.report(
                    "field-twice",
                    f"{entry.key!r} and {earlier.key!r} are the same field.",
                    line=entry.line,
                )
            self._known[name] = entry

    def report(self, code: str, message: str, *, line: int | None) -> None:
        """Add a finding."""
        self.findings.append(finding(code, message, line=line))

    def extra(self) -> tuple[tuple[str, str], ...]:
        """Unknown keys with their values, both as written."""
        return tuple((entry.key, self.raw(entry)) for entry in self._unknown)

    def unknown(self) -> Iterator[Entry]:
        """The unknown entries."""
        return iter(self._unknown)

    def entries(self) -> Iterator[tuple[str, Entry]]:
        """The known entries by field name."""
        return iter(self._known.items())

    def raw(self, entry: Entry) -> str:
        """The text after the colon of a top-level entry, as written."""
        first, *rest = self._lines[entry.first : entry.last + 1]
        after = first[first.index(entry.key) + len(entry.key) :] if entry.key in first else first
        return "\n".join([after.partition(":")[2].strip(), *rest]).rstrip()

    def has_any(self, names: frozenset[str]) -> bool:
        """Whether any of these fields exists; most documents have only a few."""
        return not names.isdisjoint(self._known)

    def line(self, name: str) -> int | None:
        """The line of a field."""
        entry = self._known.get(name)
        return entry.line if entry else None

    def node(self, name: str) -> Node | None:
        """The value of a field; None when it is missing or null."""
        entry = self._known.get(name)
        if entry is None or (isinstance(entry.value, Scalar) and entry.value.is_null):
            return None
        return entry.value

    def text(self, name: str) -> str | None:
        """A text field."""
        node = self.node(name)
        if node is None or isinstance(node, Scalar):
            return node.text.strip() if node else None
        self._wrong(name, node, "text")
        return None

    def text_as_written(self, name: str) -> str | None:
        """Like `text`, but `[file]` is text too: argument hints often look like lists."""
        node = self.node(name)
        if node is None or isinstance(node, Scalar):
            return node.text.strip() if node else None
        return self.raw(self._known[name])

    def flag(self, name: str, *, default: bool) -> bool:
        """A boolean field."""
        text = self.text(name)
        if text is None:
            return default
        if text.lower() in _YES | _NO:
            return text.lower() in _YES
        self.report(
            "field-value", f"{name} is true or false, not {text[:40]!r}.", line=self.line(name)
        )
        return default

    def number(self, name: str) -> int | None:
        """An integer field."""
        text = self.text(name)
        if text is None or re.fullmatch(r"[-+]?[0-9]{1,9}", text):
            return int(text) if text else None
        self.report("field-value", f"{name} is a number, not {text[:40]!r}.", line=self.line(name))
        return None

    def words(self, name: str) -> tuple[str, ...]:
        """A list field; a single text is split at commas, else at spaces."""
        node = self.node(name)
        if isinstance(node, Mapping):
            self._wrong(name, node, "a list")
            return ()
        if isinstance(node, Scalar):
            parts = node.text.split("," if "," in node.text else None)
            return tuple(dict.fromkeys(part.strip() for part in parts if part.strip()))
        return items_as_text(node)

    def globs(self, name: str) -> tuple[str, ...]:
        """Like `words`, but a comma inside braces does not separate patterns."""
        node = self.node(name)
        if isinstance(node, Scalar):
            return tuple(dict.fromkeys(_GLOB.findall(node.text)))
        return self.words(name)

    def tools(self, name: str) -> tuple[str, ...]:
        """Like `words`, but `Bash(git add *)` is one item."""
        node = self.node(name)
        if isinstance(node, Scalar):
            return tuple(dict.fromkeys(_TOOL.findall(node.text)))
        return self.words(name)

    def mapping(self, name: str) -> Mapping | None:
        """A mapping field."""
        node = self.node(name)
        if node is None or isinstance(node, Mapping):
            return node
        self._wrong(name, node, "a mapping")
        return None

    def _wrong(self, name: str, node: Node, expected: str) -> None:
        self.report("field-kind", f"{name} must be {expected}.", line=node.line)


def items_as_text(node: Node | None) -> tuple[str, ...]:
    """The items of a list as text, without empty ones and duplicates; a text is a list of one."""
    if isinstance(node, Sequence):
        texts = (as_text(item).strip() for item in node.items)
        return tuple(dict.fromkeys(text for text in texts if text))
    return (node.text.strip(),) if isinstance(node, Scalar) and not node.is_null else ()


# -- The Agent Skills specification ---------------------------------------------------------------


MAX_NAME_CHARS: Final = 64
MAX_DESCRIPTION_CHARS: Final = 1024
MAX_COMPATIBILITY_CHARS: Final = 500
MAX_BODY_LINES: Final = 500
MAX_BODY_TOKENS: Final = 5000
_USABLE = re.compile(r"[^\W_][\w.:-]*")
_NO_NAME = re.compile(r"[^\w.:-]+")
_CHARS_PER_TOKEN = 4


def check_name(name: str, *, folder: str | None, line: int | None) -> Iterator[SkillFinding]:
    """Whether a name is valid and equals that of its folder."""
    plain = unicodedata.normalize("NFKC", name.strip())
    if not is_specified_name(plain):
        yield finding(
            "name-form",
            f"The name {_short(name)} must be 1-{MAX_NAME_CHARS} lower-case letters, digits "
            "and single hyphens between them.",
            line=line,
        )
    if folder is not None and plain != unicodedata.normalize("NFKC", folder):
        message = f"The name {_short(name)} differs from its folder, {_short(folder)}."
        yield finding("name-folder", message, line=line)


def is_specified_name(name: str) -> bool:
    """Whether a name follows the rules: lower case, letters, digits, single hyphens inside."""
    return (
        0 < len(name) <= MAX_NAME_CHARS
        and name == name.lower()
        and all(c.isalnum() or c == "-" for c in name)
        and not (name.startswith("-") or name.endswith("-") or "--" in name)
    )


def usable_name(name: str) -> str:
    """The name if it can be typed as one word, else the nearest that can; may be empty."""
    plain = unicodedata.normalize("NFKC", name.strip())
    if len(plain) <= MAX_NAME_CHARS and _USABLE.fullmatch(plain):
        return plain
    return _NO_NAME.sub("-", plain.lower()).strip("-._:")[:MAX_NAME_CHARS].strip("-._:")


def check_description(text: str, *, line: int | None) -> Iterator[SkillFinding]:
    """Whether a description is within the limit."""
    if len(text) > MAX_DESCRIPTION_CHARS:
        message = f"The description has {len(text):,} characters, more than the 1,024 allowed."
        yield finding("description-long", message, line=line)


def check_compatibility(fields: Fields) -> Iterator[SkillFinding]:
    """Whether the compatibility note, if present, is within the limits."""
    text, line = fields.text("compatibility"), fields.line("compatibility")
    if line is not None and not 0 < len(text or "") <= MAX_COMPATIBILITY_CHARS:
        message = f"compatibility has {len(text or ''):,} characters; 1 to 500 are allowed."
        yield finding("compatibility-long", message, line=line)


def read_metadata(fields: Fields) -> tuple[tuple[str, str], ...]:
    """Metadata as pairs of text, with findings for other types."""
    node = fields.node("metadata")
    if node is None:
        return ()
    if not isinstance(node, Mapping):
        fields.report("metadata-text", "metadata must be a mapping.", line=node.line)
        return ()
    for entry in node.entries:
        if not isinstance(entry.value, Scalar):
            message = f"The metadata {_short(entry.key)} must be a text."
            fields.report("metadata-text", message, line=entry.line)
        elif not entry.value.is_text:
            message = f"Quote {_short(entry.value.text)}, or it may be read as a number."
            fields.report("metadata-number", message, line=entry.line)
    return tuple((entry.key, as_text(entry.value)) for entry in node.entries)


def check_fields(fields: Fields, *, strict: bool) -> Iterator[SkillFinding]:
    """Fields outside the specification: unknown ones always, with `strict` all."""
    for entry in fields.unknown():
        message = f"{_short(entry.key)} is an unknown field; it is preserved."
        yield finding("field-unknown", message, line=entry.line)
    if not strict:
        return
    for name, entry in fields.entries():
        if name not in SPEC_FIELDS:
            message = f"{_short(entry.key)} is not in the Agent Skills specification."
            yield finding("not-portable", message, line=entry.line)


def check_body(body: str, *, line: int) -> Iterator[SkillFinding]:
    """Whether the instructions exist and are not too long."""
    if not body:
        yield finding("body-empty", "The body is empty.", line=line)
    lines = body.count("\n") + 1
    if lines > MAX_BODY_LINES:
        message = (
            f"The body has {lines:,} lines; move parts that are not always needed into other files."
        )
        yield finding("body-long", message, line=line)
    elif len(body) > MAX_BODY_TOKENS * _CHARS_PER_TOKEN or not body.isascii():
        tokens = estimate_tokens(body)
        if tokens > MAX_BODY_TOKENS:
            message = f"The body takes about {tokens:,} tokens; 5,000 are recommended."
            yield finding("body-long", message, line=line)


def _short(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:59] + "…")
