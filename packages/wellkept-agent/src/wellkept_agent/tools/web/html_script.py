"""HTML as readable text with headings, lists, links and code.

Run as a process: markup in, JSON out. Imports nothing of ours, so that it starts fast.
"""

from __future__ import annotations

import json
import re
import sys
from html.parser import HTMLParser
from urllib.parse import urljoin

_SKIPPED = frozenset(
    "script style noscript template svg canvas iframe object nav footer aside form button select"
    " dialog".split()
)
_BLOCKS = frozenset(
    "p div section article main header ul ol table tr blockquote dl dt dd figure figcaption hr"
    " details summary".split()
)
_VOID = frozenset("br hr img input meta link area base col embed source track wbr".split())
_HEADINGS = {f"h{n}": "#" * n for n in range(1, 7)}
_OPENING = {
    **dict.fromkeys(_BLOCKS, "\n"),
    **{tag: f"\n\n{marks} " for tag, marks in _HEADINGS.items()},
    **{"p": "\n\n", "li": "\n- ", "br": "\n", "pre": "\n\n```\n", "code": "`"},
    **{"td": " | ", "th": " | "},
}
_BLANKS = re.compile(r"[ \t\r\f\v\u00a0]+")


class _TextOfHtml(HTMLParser):
    """Collects the text of a page."""

    def __init__(self, base: str = "") -> None:
        super().__init__(convert_charrefs=True)
        self.title = ""
        self._base = base
        self._parts: list[str] = []
        self._skipped: list[str] = []
        self._pre = 0
        self._in_title = False
        self._links: list[tuple[str, int]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self._skipped:
            if tag == self._skipped[-1]:
                self._skipped.append(tag)
            return
        given = dict(attrs)
        if tag in _SKIPPED or _is_hidden(tag, given):
            if tag not in _VOID:
                self._skipped.append(tag)
            return
        if tag == "title":
            self._in_title = True
        elif tag == "pre":
            self._pre += 1
        elif tag == "a":
            self._links.append((given.get("href") or "", len(self._parts)))
        if tag != "code" or not self._pre:
            self._parts.append(_OPENING.get(tag, ""))

    def handle_endtag(self, tag: str) -> None:
        if self._skipped:
            if tag == self._skipped[-1]:
                self._skipped.pop()
            return
        if tag == "title":
            self._in_title = False
        elif tag == "pre" and self._pre:
            self._pre -= 1
            self._parts.append("\n```\n\n")
        elif tag == "code" and not self._pre:
            self._parts.append("`")
        elif tag == "a" and self._links:
            self._end_link()
        elif tag in _BLOCKS or tag in _HEADINGS:
            self._parts.append("\n")

    def _end_link(self) -> None:
        href, start = self._links.pop()
        text = "".join(self._parts[start:]).strip()
        if not text or not href or href.startswith(("#", "javascript:", "data:", "mailto:")):
            return
        try:
            full = urljoin(self._base, href)
        except ValueError:
            return
        if full.startswith(("http://", "https://")) and full != text:
            self._parts[start:] = [f"[{text}]({full})"]

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self.title += data
        elif not self._skipped:
            self._parts.append(data if self._pre else _BLANKS.sub(" ", data.replace("\n", " ")))

    def text(self) -> str:
        """The text, with at most one empty line in a row."""
        lines: list[str] = []
        in_code = False
        for line in "".join(self._parts).split("\n"):
            in_code ^= line.strip() == "```"
            plain = line.rstrip() if in_code else _BLANKS.sub(" ", line).strip()
            if plain or (lines and lines[-1]):
                lines.append(plain)
        return "\n".join(lines).strip()


def _is_hidden(tag: str, given: dict[str, str | None]) -> bool:
    """Text that a reader would not see is not shown to a model either."""
    if tag in _VOID:
        return False
    style = re.sub(r"\s", "", given.get("style") or "").lower()
    return (
        "hidden" in given
        or given.get("aria-hidden") == "true"
        or "display:none" in style
        or "visibility:hidden" in style
    )


def html_to_text(html: str, base: str = "") -> tuple[str, str]:
    """Title and text of a page."""
    parser = _TextOfHtml(base)
    parser.feed(html)
    parser.close()
    return " ".join(parser.title.split()), parser.text()


def main() -> None:
    """Read a page and print its title and text."""
    title, text = html_to_text(sys.stdin.buffer.read().decode("utf-8", "replace"), sys.argv[1])
    json.dump({"title": title, "text": text}, sys.stdout)


if __name__ == "__main__":
    main()
