"""Separates text that a person wrote from text they quoted or pasted.

Code fences, backticks, quotation marks, quoted lines, diffs, log lines, stack traces, code comments
and everything inside tags are masked. Invariant: the masked text has exactly the length of the
message, so offsets agree. Knows nothing of what the words mean.
"""

from __future__ import annotations

import re

from wellkept.core.records import record

MASK = "\ue000"

_FENCE = re.compile(r"\s{0,3}(?:`{3,}|~{3,})")
_DIFF_MARK = re.compile(r"^(?:@@ |diff --git |\+\+\+ |--- [ab]/)", re.MULTILINE)
_DIFF_LINE = re.compile(r"[-+@ ]|diff |index ")
_QUOTED_LINE = re.compile(r"\s*(?:>|//|/\*|\*/|#|<!--|--\s)")
_COMMENT_STAR = re.compile(r"\s+\*(?:\s|/)")
_CODE_INDENT = re.compile(r"(?:\t| {4,})(?!\s*(?:[-*•+]|\d{1,2}[.)])\s)")
_TRACE_LINE = re.compile(
    r"\s*(?:Traceback \(|File \"|at \S+[\s(].*:\d|Caused by:|[\w.]*(?:Error|Exception)\b:?|E {2,})"
)
_LOG_LINE = re.compile(
    r"\s*(?:\[?\d{4}-\d\d-\d\d[T ]|\[?\d\d:\d\d:\d\d|\$ \S|❯|PS [A-Z]:|npm (?:ERR!|WARN)"
    r"|\[?(?:ERROR|WARN(?:ING)?|INFO|DEBUG|FATAL|TRACE|error|warning)\b[\]:(\[]"
    r"|(?:ERROR|WARN(?:ING)?|INFO|DEBUG|FATAL|TRACE) )"
)
# A mail from its header to its signature, else to its end.
_MAIL = re.compile(
    r"^(?:From|Von|De|To|An|Subject|Betreff|Objet|Asunto): [^\n]+\n"
    r"(?:[A-Z][\w-]+: [^\n]*\n)+.*?(?:^-- ?$|\Z)",
    re.MULTILINE | re.DOTALL,
)
# Clients wrap their own text in tags, and so does pasted markup.
_TAGGED = re.compile(r"(?<!\w)<([A-Za-z][\w-]*)(?:\s[^<>]*)?>.*?</\1\s*>", re.DOTALL)
_INLINE = re.compile(
    r"`[^`\n]{1,400}`"
    r"|\"[^\"\n]{1,400}\""
    r"|“[^“”\n]{1,400}”|‘[^‘’\n]{1,400}’|«[^«»\n]{1,400}»|「[^「」\n]{1,400}」|『[^『』\n]{1,400}』"
    r"|(?<![^\s(])'[^'\n]{2,400}'(?![^\s.,;:!?)])"
    r"|<!--[^\n]{0,400}?-->"
    r"|(?<=\s)//\s[^\n]{1,400}"
)
_BULLET = re.compile(r"\s*(?:[-*•+]|\d{1,2}[.)])\s+")
_BREAK = re.compile(r"(?<=[.!?])[.!?)]*(?=\s)|(?<=[。！？])")
_ABBREVIATION = re.compile(r"\b(?:e\.g|i\.e|etc|vs|cf|approx|resp|z\.B|p\.ex)\.$", re.IGNORECASE)


@record
class Sentence:
    """One sentence of the message: its offsets and masked text."""

    start: int
    end: int
    masked: str
    paragraph: int
    bullet: bool

    @property
    def asks(self) -> bool:
        """Whether it has a question mark."""
        return self.masked.rstrip(" )").endswith(("?", "？")) or self.masked.startswith("¿")


def mask_quotations(message: str) -> str:
    """The message, of the same length, with everything quoted or pasted masked."""
    message = _TAGGED.sub(_masked_lines, message) if "<" in message else message
    message = _MAIL.sub(_masked_lines, message) if ": " in message else message
    in_diff = _DIFF_MARK.search(message) is not None
    in_fence = False
    lines: list[str] = []
    for line in message.split("\n"):
        fence = _FENCE.match(line) is not None
        quoted = in_fence or fence or _is_pasted(line, in_diff=in_diff)
        in_fence ^= fence
        lines.append(MASK * len(line) if quoted else line)
    return _INLINE.sub(lambda m: MASK * len(m.group()), "\n".join(lines))


def _masked_lines(found: re.Match[str]) -> str:
    return "\n".join(MASK * len(line) for line in found.group().split("\n"))


def _is_pasted(line: str, *, in_diff: bool) -> bool:
    if in_diff and _DIFF_LINE.match(line):
        return True
    patterns = (_QUOTED_LINE, _COMMENT_STAR, _CODE_INDENT, _TRACE_LINE, _LOG_LINE)
    return any(pattern.match(line) for pattern in patterns)


def sentences(masked: str) -> list[Sentence]:
    """The sentences of a masked text in order; lines that are wholly masked give none."""
    found: list[Sentence] = []
    paragraph = offset = 0
    for line in masked.split("\n"):
        if not line.strip():
            paragraph += 1
        else:
            found.extend(_line_sentences(line, offset=offset, paragraph=paragraph))
        offset += len(line) + 1
    return found


def _line_sentences(line: str, *, offset: int, paragraph: int) -> list[Sentence]:
    bullet = _BULLET.match(line)
    cut = bullet.end() if bullet else 0
    ends = [end for m in _BREAK.finditer(line, cut) if not _abbreviates(line, end := m.end())]
    found: list[Sentence] = []
    for end in (*ends, len(line)):
        part = line[cut:end]
        text = part.strip()
        if text.strip(MASK + " .,:;!?"):
            start = offset + cut + len(part) - len(part.lstrip())
            found.append(
                Sentence(start, start + len(text), text, paragraph, bullet=bullet is not None)
            )
        cut = end
    return found


def _abbreviates(line: str, end: int) -> bool:
    return _ABBREVIATION.search(line, max(0, end - 12), end) is not None
