"""Splits a document into front matter and body.

Invariant: the parts joined together are the document, byte for byte. Knows nothing of the contents
of the front matter.
"""

from __future__ import annotations

import codecs
import re
from typing import Final

from wellkept.core.records import record
from wellkept.core.skills import SkillFinding
from wellkept.core.text import clean
from wellkept.skills.documents.finding_codes import finding

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
