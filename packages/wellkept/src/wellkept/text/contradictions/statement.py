"""Splits a short statement into what it is about and what it says of it.

No grammar: the first verb of a known list parts the subject from the rest. That is enough to tell
"build number 2 needs zeta2" (another subject) from "the timeout is 60 seconds" (another value).
The words are data (`data/changes.toml`). Japanese is parted at は or が, Chinese at its verbs.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import Any

from wellkept.core.records import record
from wellkept.core.text import STOP_WORDS, fold, stem
from wellkept.text.rule_data import read_rules

_HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff々"
_KATAKANA = "\u30a1-\u30ff"
_HIRAGANA = "\u3041-\u309f"
_IS_HAN = re.compile(f"[{_HAN}]")
_IS_HIRAGANA = re.compile(f"[{_HIRAGANA}]")
_NO_WORD = re.compile(f"[{_HIRAGANA},;:、。，；]+")
_TOKEN = re.compile(
    rf"[{_HAN}]+|[{_KATAKANA}]+|[{_HIRAGANA}]+|[、。，；]"
    rf"|[~%@#.]?[^\W{_HAN}{_KATAKANA}{_HIRAGANA}]"
    rf"(?:[^\W{_HAN}{_KATAKANA}{_HIRAGANA}]|[.@/+#:,'’%-](?=[\w/]))*[/%]?|[,;:]"
)
_NUMBER = re.compile(r"v?\d[\d.,:]*")
_MEASURED = re.compile(r"(\d[\d.,]*)([a-zµ%]{1,5})")
_REASON = re.compile(
    r"[,;]? \b(?:because|so that|in order to|weil|denn|damit|parce que|afin|puisque|porque"
    r"|ya que)\b[^;]*"
    r"|[,，]?(?:因为|由于|以便)[^;]*|ので[^;]*"
    r"|, (?:which|whose|so|since|as|et ce|was|lo que)\b[^;]*",
    re.DOTALL,
)
_SENTENCE = re.compile(r"[.!?](?=\s|$)|[。！？]")
_FORMS = {
    "be": "be is are was were been being ist sind wird werden est sont es son",
    "have": "has had",
    "use": "use uses used using",
    "do": "done does did",
    "go": "goes went gone",
    "write": "written",
    "keep": "kept",
    "send": "sent",
    "build": "built",
    "make": "made",
    "come": "came",
    "run": "run ran",
    "hold": "held",
    "take": "took taken",
    "put": "put",
    "give": "gave given",
    "throw": "threw thrown",
    "choose": "chose chosen",
    "lead": "led",
}
_IRREGULAR = {form: verb for verb, forms in _FORMS.items() for form in (verb, *forms.split())}
_SPELLINGS = (
    ("'ve", re.compile(r"\b(we|they|you|i)'ve\b"), r"\1 have"),
    ("'re", re.compile(r"\b(we|they|you)'re\b"), r"\1 are"),
    ("'s", re.compile(r"\b(it|that)'s\b"), r"\1 is"),
    (" to be", re.compile(r"\b(is|are) to be\b"), r"\1"),
    ("= ", re.compile(r" :?= (?=[^=])"), " : "),
)
_LEADING = ("always", "never", "don't")
_BETWEEN = ("not", "now", "only")
_BACKWARDS = frozenset("our my their your the notre unser unsere nuestro nuestra".split())


@record
class Statement:
    """The words of a statement by their place, each in its stem."""

    subject: tuple[str, ...]
    verb: str
    rest: tuple[str, ...]
    subject_numbers: tuple[str, ...]
    numbers: tuple[str, ...]
    """Those in the rest."""
    measure: str
    """What the first number of the rest counts: time, size, or its unit word."""
    tokens: tuple[str, ...]
    is_order: bool
    is_passive: bool
    """The verb is a form of "to be", alone or with a participle."""

    @property
    def words(self) -> tuple[str, ...]:
        """All content words, in order."""
        return (*self.subject, *self.rest)


@lru_cache(maxsize=4096)
def lemma(word: str) -> str:
    """The form under which a word is compared."""
    if word.endswith("ied"):
        word = f"{word[:-3]}y"
    return _IRREGULAR.get(word) or stem(word).removesuffix("e") or word


def spelled_out(text: str) -> str:
    """Folded text in one spelling: "we've" is "we have", and "size = 20" is "size: 20"."""
    folded = fold(text).replace("’", "'")
    for literal, mark, spelling in _SPELLINGS:
        if literal in folded:
            folded = mark.sub(spelling, folded)
    return folded


def tokens(text: str) -> list[str]:
    """Words, numbers and commas in order, folded; Chinese is parted at its function words."""
    return list(_tokens(text))


# A new statement is compared with many old ones: each is read once.
@lru_cache(maxsize=512)
def _tokens(text: str) -> tuple[str, ...]:
    folded = spelled_out(text)
    is_chinese = not folded.isascii() and not _IS_HIRAGANA.search(folded)
    found: list[str] = []
    for token in _TOKEN.findall(folded):
        if is_chinese and _IS_HAN.match(token):
            found.extend(part for part in _chinese().split(token) if part)
        elif token[0].isdigit() and (measured := _MEASURED.fullmatch(token)):
            found.extend(measured.groups())
        else:
            found.append(token.removesuffix("'s"))
    return tuple(found)


@lru_cache(maxsize=512)
def parse(text: str) -> Statement:
    """Part a statement at its verb; reasons are left out."""
    found = tokens(main_clause(text))
    start, end = verb_place(found)
    group = ["be" if token == ":" else token for token in found[start:end]]
    verb = next((lemma(t) for t in reversed(group) if lemma(t) in verbs()), "")
    last = next((t for t in reversed(group) if t not in _BETWEEN), "")
    if last and not _IRREGULAR.get(last) and last not in words("modals"):
        verb = verb if lemma(last) in verbs() else lemma(last)
    head, tail = found[:start], found[end:]
    return Statement(
        subject=content(head),
        verb=verb,
        rest=content(tail),
        subject_numbers=_numbers(head),
        numbers=_numbers(tail),
        measure=_measure(tail),
        tokens=tuple(found),
        is_order=not content(head) and start == 0,
        is_passive=any(_IRREGULAR.get(t) == "be" for t in group) or bool(_IS_HIRAGANA.search(text)),
    )


def main_clause(text: str) -> str:
    """The text without its reasons; sentences are parted by semicolons."""
    one_line = " ".join(text.split())
    return _REASON.sub("", _SENTENCE.sub(" ; ", one_line)).strip(" ;,")


def content(found: list[str]) -> tuple[str, ...]:
    """The words that carry meaning, without numbers and verbs that only place a thing."""
    return tuple(filter(None, map(_carried, found)))


@lru_cache(maxsize=4096)
def _carried(token: str) -> str:
    """A word that carries meaning, as it is compared; nothing for another token."""
    if token in _skipped() or is_number(token) or _NO_WORD.fullmatch(token):
        return ""
    return lemma(token)


@lru_cache(maxsize=4096)
def is_number(token: str) -> bool:
    """Whether a token is a number, a version or a time of day."""
    return bool(_NUMBER.fullmatch(token))


def is_measure(word: str) -> bool:
    """Whether a word is a unit of time or size."""
    return word in _units("units") or word in _units("sizes")


def _numbers(found: list[str]) -> tuple[str, ...]:
    values = [numerals().get(token, token) for token in found]
    for place, token in enumerate(found):
        if token in ("a", "an") and not is_measure(lemma("".join(found[place + 1 : place + 2]))):
            values[place] = token
    return tuple(value.replace(",", "") for value in values if is_number(value))


def _measure(found: list[str]) -> str:
    for place, token in enumerate(found[:-1]):
        if is_number(token) or token in numerals():
            after = lemma(found[place + 1])
            if after in _units("units"):
                return "time"
            return "size" if after in _units("sizes") else ""
    return ""


def verb_place(found: list[str]) -> tuple[int, int]:
    """Where the verb group begins and ends; for an order at its first word."""
    particle = next(
        (i for i, t in enumerate(found) if t[0] in "はが" or t in ("には", "では")), None
    )
    if particle is not None:
        return particle, particle + 1
    known, helping = verbs(), words("modals")
    if ":" in found[1:5] and not helping & set(found[: found.index(":")]):
        return found.index(":"), found.index(":") + 1
    first = 1 if found and found[0] in words("pronouns") else 0
    if first and len(found) > 1 and lemma(found[1]) in known and found[1] not in helping:
        return 1, 2
    if first == 0 and found and found[0] in words("orders") and not _has_helper(found):
        led = found[0] in _LEADING and len(found) > 1 and lemma(found[1]) in known
        return 0, 2 if led else 1
    start = next((i for i in range(max(first, 1), len(found)) if found[i] in helping), None)
    early = next((i for i in range(max(first, 1), len(found)) if _is_verb(found, i, known)), None)
    if start is None or (early is not None and early < start and not _inflected(found[early])):
        start = early if early is not None else _third_person(found, max(first, 1))
    if start is None:
        return first, first
    end = start + 1
    if found[start] in helping:
        while end < len(found) and (found[end] in helping or found[end] in _BETWEEN):
            end += 1
        end += end < len(found) and (
            _participle(found[end]) or _plain_verb(found, end) or _unknown_participle(found, end)
        )
    return start, end


def _says_change(token: str) -> bool:
    return token.endswith("ed") and lemma(token) in lemmas("changing")


def _has_helper(found: list[str]) -> bool:
    """Whether the second or third word is a helping verb: "Use cases are listed"."""
    return any(token in words("modals") for token in found[1:3])


def _is_verb(found: list[str], place: int, known: frozenset[str]) -> bool:
    """A word of the list that does not follow an article or a preposition."""
    before = found[place - 1]
    after = found[place + 1] if place + 1 < len(found) else ""
    return (
        (lemma(found[place]) in known or _says_change(found[place]))
        and after not in words("modals")
        and not _says_change(after)
        and (lemma(after) not in known or (_participle(after) and _IRREGULAR.get(after) != after))
        and before not in _BACKWARDS
        and before not in ("a", "an", "of", "for", "to", "by", "with", "in", "on", ",")
    )


def _third_person(found: list[str], first: int) -> int | None:
    """A word that looks like a verb of the third person: "the parser skips blank lines"."""
    for place in range(first, len(found) - 1):
        token, before = found[place], found[place - 1]
        if (
            token.endswith("s")
            and not token.endswith(("ss", "us", "is"))
            and token.isalpha()
            and content([token])
            and content([before])
            and not before.endswith("s")
        ):
            return place
    return None


def _participle(token: str) -> bool:
    """A participle of a known verb; "required" and the like are values."""
    if any(lemma(token) in family for family in closed_families()):
        return False
    return lemma(token) in verbs() and (token in _IRREGULAR or _inflected(token))


def _inflected(token: str) -> bool:
    return lemma(token) != token and token.endswith(("ed", "ing", "é", "és", "ée", "ado", "ido"))


def _unknown_participle(found: list[str], place: int) -> bool:
    """A word after a form of "to be" that ends like a participle: "are drawn on a grid"."""
    ends_like_one = found[place].endswith(("ed", "wn", "ung", "ught", "pt"))
    is_value = any(lemma(found[place]) in family for family in closed_families())
    return (
        ends_like_one and not is_value and place + 1 < len(found) and found[place + 1] in STOP_WORDS
    )


def _plain_verb(found: list[str], place: int) -> bool:
    """Whether a verb follows a helping one that takes its plain form: "must not run"."""
    helper = next(t for t in reversed(found[:place]) if t in words("modals"))
    return lemma(found[place]) in verbs() and _IRREGULAR.get(helper) not in ("be", "have")


# -- Data -----------------------------------------------------------------------------------------


@cache
def raw() -> dict[str, Any]:
    """The rule file."""
    return read_rules("changes")


@cache
def words(name: str) -> frozenset[str]:
    """A list of words as written."""
    return frozenset(fold(raw()[name]).split())


@cache
def _skipped() -> frozenset[str]:
    named = words("pronouns") | words("modals") | words("articles")
    return STOP_WORDS | named | frozenset(numerals())


@cache
def lemmas(name: str) -> frozenset[str]:
    """A list of words in the form under which they are compared."""
    return frozenset(map(lemma, fold(raw()[name]).split()))


@cache
def verbs() -> frozenset[str]:
    """Every known verb."""
    return lemmas("assigning") | lemmas("gathering") | lemmas("exclusive") | lemmas("verbs")


@cache
def closed_families() -> tuple[frozenset[str], ...]:
    """Values of which one excludes the others."""
    return tuple(frozenset(map(lemma, names.split())) for names in raw()["closed"])


@cache
def numerals() -> dict[str, str]:
    """Numbers in words."""
    return dict(entry.split("=") for entry in raw()["numerals"].split())


@cache
def _units(name: str) -> frozenset[str]:
    return lemmas(name) | words(name)


@cache
def _chinese() -> re.Pattern[str]:
    lists = ("assigning", "gathering", "exclusive", "verbs", "pronouns", "additions")
    lists += ("units", "changing")
    known = {word for name in lists for word in words(name) if re.fullmatch(f"[{_HAN}]+", word)}
    known = {word for word in known if len(word) > 1 or word not in words("changing")}
    particles = {"已", "的", "从", "到", "与", "和", "了", "将", "把", "被", "都", "请"}
    ordered = sorted(known | particles, key=len, reverse=True)
    return re.compile("(" + "|".join(ordered) + ")")


_MAX_VALUE_WORDS = 5
_WHERE = ("in", "on", "at", "to", "under", "into")


def gives_another_value(before: Statement, after: Statement) -> bool:
    if not (before.subject or before.is_order or before.rest):
        return False
    if before.subject_numbers != after.subject_numbers:
        return False
    if set(before.subject) != set(after.subject) or before.verb != after.verb:
        return False
    return before.numbers == after.numbers and _another_word(before, after)


def _another_word(before: Statement, after: Statement) -> bool:
    """One short value differs, where a thing has one value at a time."""
    span = differing(before.rest, after.rest)
    if span is None:
        return False
    start, old, new = span
    for family in closed_families():
        one, other = family & set(old), family & set(new)
        if len(one) == len(other) == 1:
            beside = set(old) - one, set(new) - other
            if beside[0] == beside[1] or all(beside):
                return beside[0] == beside[1]
    if all(map(is_measure, (*old, *new))):
        return True
    led_by = [leading(one, value) for one, value in ((before, old), (after, new))]
    if any(words("narrowing") & set(lead) for lead in led_by):
        return False
    timed = any("every" in lead for lead in led_by)
    parts = [{"in" if w in _WHERE and not timed else w for w in lead} for lead in led_by]
    if all(parts) and parts[0].isdisjoint(parts[1]):
        return False  # "stored as PNG" / "stored in S3"
    if before.subject and before.is_passive and before.verb != "use":
        bare = before.verb == "be" and not all(led_by)
        return not (bare and (is_quality(old) or is_quality(new)))
    if before.subject:
        return before.verb in lemmas("settled") | lemmas("assigning") and all(led_by)
    if not start:
        return False
    served = all(words("serving") & set(lead) for lead in led_by)
    return served or (before.verb in lemmas("placing") and all(led_by))


def differing(
    old: tuple[str, ...], new: tuple[str, ...]
) -> tuple[int, tuple[str, ...], tuple[str, ...]] | None:
    """Where the only differing words begin, and what they are on each side."""
    start = 0
    while start < min(len(old), len(new)) and old[start] == new[start]:
        start += 1
    end = 0
    while end < min(len(old), len(new)) - start and old[-1 - end] == new[-1 - end]:
        end += 1
    left, right = old[start : len(old) - end], new[start : len(new) - end]
    if not left or not right or max(len(left), len(right)) > _MAX_VALUE_WORDS:
        return None
    return start, left, right


def leading(statement: Statement, value: tuple[str, ...]) -> list[str]:
    """The words without content right before a value."""
    word = value[0]
    places = [i for i, token in enumerate(statement.tokens) if lemma(token) == word]
    place = places[-1] if places else 0
    found: list[str] = []
    while place > 0 and not content([statement.tokens[place - 1]]):
        place -= 1
        found.append(statement.tokens[place])
    return [token for token in found if token not in words("modals")]


def is_quality(value: tuple[str, ...]) -> bool:
    endings = tuple(raw()["adjective_endings"].split())
    word = value[0] if value else ""
    return word in lemmas("adjectives") or (len(value) == 1 and word.endswith(endings))


def exclude_each_other(old: tuple[str, ...], new: tuple[str, ...]) -> bool:
    """Whether two values are of a family of which one holds: "optional" and "required"."""
    return any(family & set(old) and family & set(new) for family in closed_families())
