"""Read what an agent wrote at the end of its work: its sentences, as they stand, in their order.

Code, banners, blocks of the client, targets of links and what the agent only announces ("Let me
check …") are left out; rows of a table stay. Nothing is reworded.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from wellkept.core.text import estimate_tokens, shorten

MAX_CHARS = 20_000
_CODE = re.compile(r"^[ \t]*(```|~~~).*?(?:^[ \t]*\1[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)
_BLOCK = re.compile(r"<([a-z]+(?:[-_][a-z]+)+)(?:\s[^<>]*)?>.*?(?:</\1\s*>|\Z)", re.DOTALL)
_RULE_ROW = re.compile(r"^\s*\|?[\s:|+-]*-{2,}[\s:|+-]*$")
_ASIDE = re.compile(
    r"^[^\n]*★[^\n]*[─━═]{3}.*?^[^\w\n]*[─━═]{3}[^\w\n]*$", re.DOTALL | re.MULTILINE
)
_BANNER = re.compile(r"^[\W_]*$|[─━═★☆]{2,}")
_HEADING = re.compile(r"^#{1,6}\s+|^\*\*[^*]+\*\*:?$")
_MARK = re.compile(r"^#{1,6}\s+|^>\s?")
_BULLET = re.compile(r"^(?:[-*•+]|\d{1,2}[.)])\s+(?:\[[ xX]\]\s+)?")
_LINK = re.compile(r"!?\[([^\[\]\n]+)\]\([^)\n]*\)")
_DIRECTIVE = re.compile(r"::[a-z][\w-]*\{[^}\n]*\}")
_EMPHASIS = re.compile(r"\*\*|(?<!\w)__|__(?!\w)")
_SENTENCE = re.compile(
    r"(?<=[.!?。！？])(?<!\be\.g\.)(?<!\bi\.e\.)(?<!\bvs\.)\s+(?=[\w`\"'“([*✅❌])"
)
_ANNOUNCED = re.compile(
    r"^(?:(?:ok(?:ay)?|now|first|next|great|good|perfect|so)\b[,.!]?\s*)*"
    r"(?:(?:let me|let's|i'll|i will|i'm going to)\b(?! not\b)|here(?:'s|’s| is| are)\b.{0,60}:$)",
    re.IGNORECASE,
)
_EXCLAIMED = re.compile(r"^[\w' ]{2,24}!$|^(?:all )?(?:done|clean|good|set|fixed|clear)[.!]$", re.I)
_OPEN = re.compile(
    r"\b(?:still (?:fail\w*|open|broken|missing|pending)|left (?:open|to do)|remaining)\b"
    r"|(?:\bnot|n't|\bno) (?:yet )?(?:been )?(?:deployed|run|tested)\b",
    re.IGNORECASE,
)
_GIT_STATE = re.compile(
    r"\b(?:uncommitted|unpushed|unstaged|untracked|work(?:ing)? ?tree|no commits?"
    r"|ready to (?:commit|push|merge)|(?:ahead|behind)(?= ?[:/]| of)|(?:staged|local) changes)\b"
    r"|(?:\bnot|n't|\bnothing(?: is| was)?) (?:yet |been |being )*"
    r"(?:commit(?:ted)?|push(?:ed)?|staged?|merged?)\b"
    r"|\bme to\b[^.!?]{0,30}\b(?:commit|push|stage|merge)\b[^.!?]*\?",
    re.IGNORECASE,
)
_MIN_LETTERS = 3


def sentences(message: str) -> list[str]:
    """The sentences, bullets and table rows of a message that say something, as written."""
    found: list[str] = []
    text = _DIRECTIVE.sub(
        "", _LINK.sub(r"\1", _CODE.sub("\n", _BLOCK.sub("", _ASIDE.sub("", message[:MAX_CHARS]))))
    )
    for line in _lines(text):
        for sentence in _SENTENCE.split(line):
            plain = sentence.strip()
            if plain and not _ANNOUNCED.match(plain) and not _EXCLAIMED.match(plain):
                found.append(plain)
    return found


def open_ends(said: Sequence[str]) -> list[str]:
    """Sentences that plainly name something left open; a question at the very end is one."""
    found = [one for one in said if _OPEN.search(one) or is_git_state(one)]
    if said and said[-1].rstrip("*_ ").endswith(("?", "？")) and said[-1] not in found:
        found.append(said[-1])
    return found


def is_git_state(sentence: str) -> bool:
    """Whether a sentence says how git stood then: what is open now only git can tell."""
    return _GIT_STATE.search(sentence) is not None


def cut(said: Sequence[str], *, tokens: int, count: Callable[[str], int] = estimate_tokens) -> str:
    """As many whole sentences from the beginning as fit, and the first open end after them. A cut
    is marked."""
    if not said:
        return ""
    if count(whole := " ".join(said)) <= tokens:
        return whole
    last = next(iter(open_ends(said)[-1:]), "")
    last = last if count(last) <= tokens // 3 else ""
    kept: list[str] = []
    for one in said:
        if count(" ".join((*kept, one, "…", last))) > tokens:
            break
        kept.append(one)
    while len(kept) > 1 and kept[-1].endswith((":", "：")):
        kept.pop()  # what it introduces is missing
    if not kept:
        return shorten(said[0], limit=4 * tokens)
    return " ".join((*kept, "…", *([last] if last and last not in kept else [])))


def _lines(text: str) -> Iterator[str]:
    """Lines without markup; the head row of a table and headings of one word are left out."""
    lines = text.splitlines()
    for number, raw in enumerate(lines):
        line = raw.strip()
        following = lines[number + 1] if number + 1 < len(lines) else ""
        if _BANNER.search(line) or _RULE_ROW.match(line):
            continue
        if line.startswith("|"):
            if _RULE_ROW.match(following) and "|" in following:
                continue
            line = " — ".join(filter(None, (cell.strip() for cell in line.strip("|").split("|"))))
        elif _HEADING.match(line):
            line = _EMPHASIS.sub("", _MARK.sub("", line)).strip()
            line = f"{line.rstrip(':')}:" if " " in line else ""
        plain = _BULLET.sub("- ", _EMPHASIS.sub("", _MARK.sub("", line)).strip())
        if sum(map(str.isalpha, plain)) >= _MIN_LETTERS:
            yield plain
