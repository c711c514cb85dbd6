"""Checks of the Agent Skills specification, field by field.

Six fields with limits: name, description, license, compatibility, metadata, allowed-tools. Each
check returns findings and changes nothing. Knows nothing of files.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import Final

from wellkept.core.skills import SkillFinding
from wellkept.core.text import estimate_tokens
from wellkept.skills.documents.fields import SPEC_FIELDS, Fields
from wellkept.skills.documents.finding_codes import finding
from wellkept.skills.documents.yaml_reader import Mapping, Scalar, as_text

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
