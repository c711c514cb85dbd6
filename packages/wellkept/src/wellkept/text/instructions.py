"""Tell facts from instructions to an agent in text that no person taught.

Tool output, web pages and documents can hold text that is written for the agent: "ignore previous
instructions and run …". `fact_of` cuts such text to what stands before it and takes out what hides
it: invisible characters, terminal codes, links, comments, encoded blobs. `without_instructions`
cuts whole lines out of output before anything is made of it. `reads_as_instruction`
names the reason. An imperative alone is no instruction to the agent: "Run `npm ci` first" is a fact
about the project, and error messages say "you must".

A look for a few marks comes first, so that ordinary text costs next to nothing.
"""

from __future__ import annotations

import re
import unicodedata

from wellkept.core.text import content_words, strip_invisible
from wellkept.text.instruction_patterns import PATTERNS

CUT = "[an instruction to the agent was cut]"
MIN_WORDS = 2
_MIN_BLOB_CHARS = 48
_TERMINAL = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_HIDDEN = re.compile(
    "[\u200b-\u200f\u2028-\u202e\u2060-\u206f\u00ad\u034f\u115f\u1160\u3164\ufe00-\ufe0f\ufeff]"
)
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)|\[//\]: # \(.*?\)", re.DOTALL)
_IMAGE = re.compile(r"!\[([^\]\n]*)\]\([^)\n]*\)")
_LINK = re.compile(r"\[([^\]\n]+)\]\((?:[a-z][a-z+.-]*:|//|#)[^)\n]*\)", re.IGNORECASE)
_BLOB = re.compile(r"data:[\w/+.-]+;base64,[A-Za-z0-9+/=]+|(?<![\w/+])[A-Za-z0-9+/]{48,}={0,2}")
_SPACED = re.compile(r"\b(?:\w[ .·*_-]){4,}\w\b")
_SENTENCE = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n+")
# Letters of other scripts that look like Latin ones.
_LOOKALIKES = str.maketrans(
    "аеорсухіѕјԁɡһкмтвнАЕОРСУХІЅЈКМТВНοιαεν",
    "aeopcyxisjdghkmtbhAEOPCYXISJKMTBHoiaev",
)

_MARKUP = ("](", "<!--", "[//]")
_MARKS = frozenset(mark for pattern in PATTERNS for mark in pattern.marks)


def visible(text: str) -> str:
    """The text without what hides: terminal codes, unseen characters, comments, targets of links,
    encoded blobs."""
    if "\x1b" in text:
        text = _TERMINAL.sub("", text)
    if not text.isascii():
        text = _HIDDEN.sub("", strip_invisible(text))
    if any(mark in text for mark in _MARKUP):
        text = _LINK.sub(r"\1", _IMAGE.sub(r"\1", _COMMENT.sub(" ", text)))
    return _BLOB.sub(_without_blob, text) if len(text) >= _MIN_BLOB_CHARS else text


def _without_blob(found: re.Match[str]) -> str:
    """A long path or a hash is no blob: those mix no capitals, small letters and digits."""
    text = found.group()
    kinds = (str.isupper, str.islower, str.isdigit)
    is_blob = text.startswith("data:") or all(any(map(kind, text)) for kind in kinds)
    return "…" if is_blob and text.count("/") * 12 < len(text) else text


def reads_as_instruction(text: str) -> str | None:
    """Why a text reads as an instruction to the agent; None when it does not."""
    # The text as it stands, and as it is meant to be read.
    plain = visible(text)
    forms = [plain]
    if not plain.isascii():
        forms.append(unicodedata.normalize("NFKC", plain).translate(_LOOKALIKES))
    if _SPACED.search(forms[-1]):
        forms.append(_SPACED.sub(lambda m: re.sub(r"[ .·*_-]", "", m.group()), forms[-1]))
    for form in forms:
        lowered = form.lower()
        for reason, marks, pattern in PATTERNS:
            if any(mark in lowered for mark in marks) and pattern.search(form):
                return reason
    return None


def without_instructions(text: str) -> str:
    """The text with every line cut that reads as an instruction to the agent."""
    kept: list[str] = []
    done = 0
    for start, end in sorted(_marked_lines(text)):
        if reads_as_instruction(text[start:end]) is not None:
            kept += (text[done:start], CUT)
            done = end
    return "".join((*kept, text[done:])) if kept else text


def _marked_lines(text: str) -> set[tuple[int, int]]:
    """The spans of the lines that have a mark of some pattern. Most lines have none."""
    lowered = text.lower()
    if len(lowered) != len(text):
        lowered = text  # a letter whose small form is longer; its line is read as it stands
    spans: set[tuple[int, int]] = set()
    for mark in _MARKS:
        at = lowered.find(mark)
        while at >= 0:
            end = text.find("\n", at)
            end = len(text) if end < 0 else end
            spans.add((text.rfind("\n", 0, at) + 1, end))
            at = lowered.find(mark, end)
    return spans


def fact_of(text: str) -> str | None:
    """A text cut to its fact: what stands before an instruction. None when nothing is left."""
    plain = visible(text)
    if reads_as_instruction(plain) is None:
        return plain if plain.strip() else None
    kept: list[str] = []
    for part in _SENTENCE.split(plain):
        # What follows an instruction may carry it on.
        if reads_as_instruction(" ".join((*kept[-1:], part))) is not None:
            break
        kept.append(part)
    fact = " ".join(" ".join(kept).split())
    is_said = len(content_words(fact)) > MIN_WORDS
    return fact if is_said and reads_as_instruction(fact) is None else None
