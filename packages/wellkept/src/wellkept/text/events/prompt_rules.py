"""Read prompts and messages by rule: intent, request and next steps.

Precision before recall: a sentence counts only when its own words are clear.
"""

from __future__ import annotations

import re
from typing import Literal, TypeAlias

from wellkept.core.text import content_words, first_line, shorten

Intent: TypeAlias = Literal["fix", "feature", "refactor", "other"]
REQUEST_CHARS = 140
_MAX_STEPS = 4

# The first verb of a request decides; what it is about ("error handling") does not.
_FIX = (
    r"fix(?:es|ed|ing)?|debug|hotfix|repair|resolve|solve|correct|address|unbreak|investigate why"
)
_REFACTOR = (
    r"refactor\w*|rename|extract|simplif\w+|clean ?up|tidy|restructure|split|reorgani[sz]e|move"
    r"|dedupe|deduplicate|inline|consolidate"
)
_FEATURE = (
    r"add|implement|create|build|introduce|support|write|make|allow|enable|insert|provide|extend"
    r"|display|show|set up|generate|mark|upload"
)
_LEADING = re.compile(
    rf"\W*(?:(?:ok(?:ay)?|yes|yeah|please|pls|now|also|and|so|then|great|good|let'?s|lets|can you"
    rf"|could you|can we|we (?:need|have) to|i (?:want|need) (?:you )?to|i'd like (?:you )?to|you"
    rf"|to|go ahead and|just|next)\b\W*)*(?:(?P<fix>{_FIX})|(?P<refactor>{_REFACTOR})"
    rf"|(?P<feature>{_FEATURE}))\b",
    re.I,
)
_INTENTS: tuple[tuple[Intent, re.Pattern[str]], ...] = (
    (
        "fix",
        re.compile(
            rf"\b(?:{_FIX}|bugs?|broken|crash\w*|regression|fail(?:s|ing|ed)|wrong"
            r"|doesn't work|does not work|not working|not visible)\b",
            re.I,
        ),
    ),
    ("refactor", re.compile(rf"\b(?:{_REFACTOR})\b", re.I)),
    ("feature", re.compile(rf"\b(?:{_FEATURE})\b", re.I)),
)
_MIN_TELLING_WORDS = 3
# Words that agree, go on or start a sentence; they tell nothing of the work.
_IDLE = frozenset(
    """ok okay yes yeah yep no nope please pls do it lets let's go ahead on continue proceed great
    good nice cool thanks thank you perfect sure commit push merge now then next all there done this
    that sounds looks fine right same again one get back make so and the a to for me we i can could
    да нет ок давай хорошо продолжай 好 好的 是 继续 可以 はい 続けて oui non merci ja nein weiter
    sí vale""".split()
)
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z`\"'])|\n+")
_STEPS_HEADING = re.compile(
    r"^[#*\s]*(?:(?:recommended |possible |suggested )?next steps?|next(?: up)?(?= ?:)"
    r"|remaining(?: work| tasks)?|to-?do|left to do|follow-?ups?|still (?:open|to do)"
    r"|not done(?: yet)?)\b"
    r"[^.\n:]{0,40}(?::[*\s]*(?P<rest>.*)|[*\s]*)$",
    re.I,
)
_STEP_SENTENCE = re.compile(
    r"^(?:Next[,:]? |(?:I|We) still (?:need|have) to |Still (?:needs|to do|open|missing)|Remaining:"
    r"|What's left|(?:The )?next step is"
    r"|I (?:have not|haven't|did not|didn't) (?:yet )?"
    r"(?:run|test|add|update|change|touch|implement))",
    re.I,
)
_TITLE = re.compile(r"^(?:implementation )?plan\s*[:–—-]\s*", re.I)
_BULLET = re.compile(r"^\s*(?:[-*•]|\d+[.)]|\[ \])\s+(?P<text>.+)$")


def request_of(prompt: str) -> str | None:
    """What a prompt asks for: its first line, or the title of the document that follows a line such
    as "Implement the following plan:"."""
    first, _, rest = prompt.lstrip().partition("\n")
    title = rest.lstrip().partition("\n")[0] if first.rstrip().endswith(":") else ""
    if title.startswith("#"):
        told = _TITLE.sub("", first_line(title, limit=REQUEST_CHARS))
        return told or first_line(prompt, limit=REQUEST_CHARS)
    return first_line(prompt, limit=REQUEST_CHARS) or None


def tells(request: str | None) -> bool:
    """Whether a request says what the work is; "commit", "6" and "yeah lets do it" do not."""
    if not request:
        return False
    words = [w for w in content_words(request) if w not in _IDLE and not w.isdigit()]
    return len(words) >= _MIN_TELLING_WORDS or (len(words) == 2 and len("".join(words)) >= 10)


def intent_of(prompt: str) -> Intent:
    """The intent of a request, by its first verb, else by what it speaks of. Of a pasted document
    only the title counts."""
    request = request_of(prompt) or ""
    leading = _LEADING.match(request)
    if leading is not None:
        kinds: tuple[Intent, ...] = ("fix", "refactor", "feature")
        return next(kind for kind in kinds if leading[kind])
    for intent, rule in _INTENTS:
        if rule.search(request):
            return intent
    return "other"


def next_steps(message: str | None) -> list[str]:
    """The next steps that a closing message names."""
    steps: list[str] = []
    in_list = False
    for line in (message or "").splitlines():
        heading, bullet = _STEPS_HEADING.match(line), _BULLET.match(line)
        if heading:
            in_list = True
            steps += [heading["rest"]] if heading["rest"] else []
        elif bullet and in_list:
            steps.append(bullet["text"])
        elif line.strip():
            in_list = False
            said = map(str.strip, _SENTENCE.split(line[:20_000]))
            steps += [one for one in said if _STEP_SENTENCE.match(one)]
    return [shorten(plain(step), limit=160) for step in dict.fromkeys(steps)][:_MAX_STEPS]


def plain(text: str) -> str:
    """A sentence without list and emphasis markup."""
    return re.sub(r"\*\*|__|^[\s#>*-]+", "", " ".join(text.split())).strip()
