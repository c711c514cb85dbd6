"""Finds secrets by the name they are given: `password = "X"`, `DB_PASS=X`, "the password is X".

Starts at a word that speaks of secrets and reads a bounded part of the text from there. What a
value must look like depends on how sure its position is: a quoted value is taken easily, a bare
word in prose only when it looks made up.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from wellkept.core.records import record
from wellkept.text.secrets import values
from wellkept.text.secrets.spans import SecretSpan, WorkCount
from wellkept.text.secrets.values import ValueLists

_RUN_CHARS = 20
_RUN = re.compile(r"[A-Za-z0-9+/_~.-]{20,}={0,2}")
_INSIDE_WORD = re.compile(r"[a-z]{2}")
_GOES_ON = re.compile(r"[a-rt-z]")
_LETTER = re.compile(r"[^\W\d_]")
# What must come before the key for `ENV TOKEN value` and `<token>value</token>`.
_ENV_LINE = re.compile(
    r"(?:^|[^A-Za-z0-9.-])(?:ENV|ARG|setenv|SetEnv|SET|set -gx|fastcgi_param|env)\s\w{0,40}$"
)
_PLAIN_NAME = re.compile(r"[\w.-]{1,60}")
_BARE = frozenset({"bare", "flag", "said", "said_cjk", "valued", "block", "encoded"})
_OR_NEXT = frozenset({"said", "named"})
_LEAST_CHARS = 4
_TAG = re.compile(r"<[\w:-]{0,40}$")
_SETTER = re.compile(r"set_?$", re.IGNORECASE)
_STORED = re.compile(r"(?:set|put|env|define)\w{0,12}\(\s{0,2}[\"'][\w.]{0,60}$", re.IGNORECASE)
_TABLE = re.compile(r"[|│┃]")
_ROW_START = re.compile(r"[|│┃]\s*[\w .-]{0,40}$")
# Parts of a connection string before the password.
_DSN = re.compile(
    r"(?:user|uid|username|user id|host|server|dbname|database|port)\s?=\s?"
    r"[^\s;,()&\"']{1,80}[\s;&]{1,3}[\w.]{0,40}$",
    re.IGNORECASE,
)
# A user's name shortly before: only then is "pass X" about a password.
_WITH_USER = re.compile(r"\b(?:user|username|login|admin|root|account)\b[^\n]{0,40}$", re.I)
# Made of letters, then digits: after "password" this is one, whatever stands before.
_PASSWORD_LIKE = re.compile(r"[A-Za-z]{3,16}[_!#@%*+-]?\d{2,6}[!#@?_)\].,;]{0,3}")
_YAML_SIGN = re.compile(r"(?<=:)[ \t]{1,3}(?=\S)")
_YAML_KEY = re.compile(r"(?:.*[\s:>+-])?[\"']?[\w.-]{0,60}")
_YAML_ACCOUNT = re.compile(
    r"(?m)^[ \t+>-]*(?:\w+_)?(?:user|username|login|email|host)[\"']?:[ \t]+\S"
)
_RUN_WINDOW_CHARS = 60
_BEFORE_CHARS = 64
_VALUE_CHARS = 512
_REST = re.compile(r"[^\s\"'`,;)}\]<>|&\\]*")
_NOT_BEFORE_RUN = re.compile(r"(?:sha\d{1,3}[-:]|integrity.{0,8}|base64,|[/#@])$", re.IGNORECASE)

# A quote, escaped any number of times, or as a shell writes it inside of quotes; in a file's name
# the backslashes became slashes.
_QUOTE = r"(?:'\\{1,3}''|[\\/]{0,31}[\"'`])"
_VALUE = (
    r"(?:[bfnru]{0,2}[\\/]{0,31}\"(?P<double>[^\"\r\n]{1,512}?)(?:[\\/]{0,31}\"|\Z)"
    r"|[bfnru]{0,2}[\\/]{0,31}'(?P<single>[^'\r\n]{1,512}?)(?:[\\/]{0,31}'|\Z)"
    r"|`(?P<tick>[^`\r\n]{1,512})`"
    r"|(?P<bare>[^\s\"'`,;)}\]<>|&\\\x1b]{1,512}))"
)
_COLOUR = r"(?:\x1b?\[[\d;]{1,8}m)?"
_SIGN = (
    rf"{_COLOUR}(?:\*\*)?[\u200b-\u200d\u2060\ufeff]{{0,2}}"
    r"\s{0,24}(?::\s{0,2}[&*]?[A-Za-z_][\w.\[\]| ]{0,30}\s{0,2}=|:=|=>|->|→|={1,2}"
    r"|[:：＝](?:\*\*)?|[|│┃]|\t|\.{4,60})"
    rf"\s{{0,4}}{_COLOUR}"
    r"(?:\(\s{0,4}(?:\n|\\n)?[+-]?[ \t]{0,40}(?=\\{0,7}[\"']))?"
)
# Up to seven plain words, as in "the password for the staging box is".
_WORDS_BETWEEN = r"(?:[ \t]{1,2}[^\W_][\w@.]{0,30}){0,7}?(?:[ \t]\([^()\n]{1,120}\))?"
# A line break, and the number that a listing puts before the next line.
NEXT_LINE = r"\r?\n(?:[ \t]{0,6}\d{1,6}[\t→])?"
_FLAG_VALUE = r"\s{1,3}[\"']?(?P<flag>[^\s\"'`-][^\s\"'`]{0,200})"
_NEXT_WORD = re.compile(_FLAG_VALUE)
_AFTER_COLON = re.compile(
    rf"{_WORDS_BETWEEN}\s{{0,2}}[:：](?:(?:{NEXT_LINE}){{1,2}}[ \t]{{0,8}}|\s{{1,3}})"
    r"[\"'`]?(?P<said>[^\s\"'`,;]{1,200})"
)


def given_pattern(*, suffixes: str, verbs: Sequence[str]) -> str:
    """The pattern of what may follow a word that speaks of secrets."""
    verb = "|".join(map(re.escape, sorted(verbs, key=len, reverse=True)))
    quote, maybe = _QUOTE, f"(?:{_QUOTE})?"
    return "(?i)" + suffixes + "(?:" + "|".join((
        # password: | or <<EOT, the value on the next line
        maybe + r"\s{0,4}[:=]\s{0,4}(?:<<[-~]?[\"']?\w{2,12}[\"']?|[|>][+-]?)[ \t]{0,3}"
        rf"{NEXT_LINE}[ \t]{{0,40}}"
        r"(?P<block>[^\s\"'#]{4,512})",
        maybe + r"\]?" + _SIGN + _VALUE,
        # process.env.JWT_SECRET || "X"
        rf"{maybe}[\])]{{0,2}}\s{{0,3}}(?:\|\||\?\?|\bor\b)\s{{0,3}}{quote}"
        r"(?P<fallback>[^\"'\s\\]{4,200})",
        r"(?:%22|%27)?%3[AaDd](?:%20)?(?:%22|%27)?(?P<encoded>[A-Za-z0-9._~!*-]{4,200})",
        # name: PASSWORD, value: X
        rf"{maybe},?(?:\s|\\n|\d{{1,6}}[\t→]){{0,40}}{maybe}value{maybe}\s{{0,2}}[:=]\s{{0,3}}{maybe}"
        r"(?P<valued>[^\s\"'\\,]{1,200})",
        rf"{quote}\s{{0,2}},\s{{0,2}}{quote}(?P<listed>[^\"'\s\\]{{1,512}})",
        rf"\(\s{{0,2}}{quote}(?P<called>[^\"'\s\\]{{1,512}})",
        r">(?P<tag>[^<\s]{1,200})</",
        # variable "password" { default = "X" }
        rf"{quote}\s{{0,3}}\{{[^{{}}]{{0,300}}?default\s{{0,8}}=\s{{0,8}}{quote}"
        r"(?P<default>[^\"'\s\\]{1,200})",
        rf"{_WORDS_BETWEEN}(?:\s{{1,3}}(?:{verb})\s{{1,3}}"
        rf"|\s{{0,2}}[:：—–](?:(?:{NEXT_LINE}){{1,2}}[ \t]{{0,8}}|\s{{1,3}}))[\"'`]?"
        r"(?P<said>[^\s\"'`,;]{1,200})",
        r"\s?[是は为為는은]\s{0,2}[\"'`「]?(?P<said_cjk>[!-~]{1,200})",
        r"\s{1,3}(?:[^\W\d_]{1,20}\s{1,2}){0,2}[`\"'](?P<named>[^\s`\"']{6,200})[`\"']",
        # A key below its name.
        rf"[ \t]{{0,3}}{NEXT_LINE}[ \t]{{0,8}}"
        r"(?P<below>[A-Za-z0-9+/=_-]{20,200})(?=[ \t]*(?:\r?\n|\Z))",
        _FLAG_VALUE,
    )) + ")"  # fmt: skip


@record
class Stem:
    """A word that speaks of secrets. A `whole` one does not count inside other words."""

    rule: str
    text: str
    whole: bool = False


@record
class _Key:
    """A word that speaks of secrets, at its place."""

    rule: str
    text: str
    start: int
    end: int
    whole: bool

    @property
    def before(self) -> str:
        return self.text[max(0, self.start - _BEFORE_CHARS) : self.start]


def find_named(
    stem: Stem,
    text: str,
    start: int,
    *,
    given: re.Pattern[str],
    lists: ValueLists,
    work: WorkCount,
) -> Iterator[SecretSpan]:
    """The secrets that the word at `start` names."""
    key = _Key(stem.rule, text, start, start + len(stem.text), stem.whole)
    if stem.whole and not _is_whole(key):
        return
    match = given.match(text, key.end)
    if match and match.lastgroup in _OR_NEXT and not _is_found(key, match, lists):
        # "password is generated for root: X", then "password X1 is what we use", where the value
        # stands before the verb.
        later = _AFTER_COLON.match(text, key.end)
        is_later = later is not None and _is_found(key, later, lists)
        match = later if is_later else _NEXT_WORD.match(text, key.end)
    if match:
        work.places += 1
        kind = match.lastgroup or ""
        if _is_found(key, match, lists):
            begin = match.start(kind)
            end = begin + len(match[kind].rstrip("\\"))
            # A value that filled the look-ahead goes on; none of it may stay.
            filled = end - begin >= _VALUE_CHARS
            yield SecretSpan(key.rule, begin, rest_end(text, end) if filled else end)
            return
    yield from _find_runs(key, lists, work)


def _is_found(key: _Key, match: re.Match[str], lists: ValueLists) -> bool:
    kind = match.lastgroup or ""
    return _is_given_secret(key, match, kind) and lists.is_real(match[kind].rstrip("\\"))


def rest_end(text: str, end: int) -> int:
    """Where a value ends that went on beyond the look-ahead."""
    rest = _REST.match(text, end)
    return rest.end() if rest else end


def _is_whole(key: _Key) -> bool:
    text, start, end = key.text, key.start, key.end
    camel = start > 0 and text[start].isupper() and text[start - 1].islower()
    if start and _LETTER.match(text, start - 1) and not camel:
        return False
    if end < len(text) and _LETTER.match(text, end):
        return False
    # "PASS: test_one" is the result of a test.
    alone = not (start and text[start - 1] == "_")
    return not (alone and text[start:end].isupper() and text[end : end + 1] == ":")


def _is_given_secret(key: _Key, match: re.Match[str], kind: str) -> bool:
    value = match[kind].rstrip("\\")
    if len(value) < _LEAST_CHARS or not value.isascii() or not _is_framed(key, match, kind):
        return False
    if kind == "said" and key.rule != "password" and values.is_digest_or_id(value):
        between = key.text[key.end : match.start(kind)].split()
        return len(between) < 2
    if kind == "below":
        return values.is_random(value) and not values.is_digest_or_id(value)
    bare = kind in _BARE
    if bare and _is_call(value, follows=key.text[match.end(kind) : match.end(kind) + 1]):
        return False
    if values.is_random(value):
        return True
    match kind:
        case "called" if _SETTER.search(key.before):
            return _quoted_is_secret(key.rule, value)
        case "listed" | "called":
            mixed = len(value) >= 6 and values.has_digit_and_letter(value)
            stored = key.rule == "password" and _STORED.search(key.before) is not None
            odd = mixed or (stored and values.is_made_up(value))
            return odd and not values.is_name_chain(value)
        case "named":
            given = key.rule == "password" and "=" not in value
            return given and (values.has_digit_and_letter(value) or values.is_made_up(value))
        case _ if not bare:
            return _quoted_is_secret(key.rule, value)
        case _:
            pass
    if values.is_name_chain(value):
        return False
    return _bare_is_secret(key, match, kind, value)


def _is_framed(key: _Key, match: re.Match[str], kind: str) -> bool:
    """Whether what stands around the value fits its kind."""
    if kind == "tag":
        return _TAG.search(key.before) is not None
    if kind == "flag":
        before = key.before
        if _is_flag(before) or _is_env_line(before):
            return True
        if key.rule != "password" or not values.has_digit_and_letter(match["flag"]):
            return False
        plain = not key.whole and _PASSWORD_LIKE.fullmatch(match["flag"]) is not None
        return plain or _WITH_USER.search(before) is not None
    if kind in ("block", "fallback"):
        return True
    if _TABLE.search(key.text, key.end, match.start(kind)):
        return _ROW_START.search(key.before) is not None
    return True


def _is_flag(before: str) -> bool:
    """Whether the key is the rest of a flag, as in `--db-password`."""
    last = before[-1:]
    if not (last == "-" or last.isalnum() or last == "_"):
        return False
    return before.rsplit(None, 1)[-1].lstrip("\"'").startswith("-")


def _is_env_line(before: str) -> bool:
    words = before.rpartition("\n")[2].split()[-2:]
    return bool(words) and _ENV_LINE.search(before) is not None


def _is_env(key: _Key, match: re.Match[str], kind: str) -> bool:
    """Whether even plain letters are a value here: KEY=value with the key in capitals, the
    password of a connection string, and of a command line when it is written like a name."""
    value = match[kind]
    capitals = key.text[key.start].isupper()
    if kind == "valued":
        return capitals
    if (
        kind == "bare"
        and capitals
        and key.before.endswith("_")
        and values.is_made_up(value.rstrip("."))
    ):
        return True
    if kind == "said":
        # Quoted in a sentence: it is meant letter by letter.
        return not key.whole and key.text[match.start(kind) - 1] in "\"'`"
    if kind == "bare" and _is_yaml_value(key, match, capitals=capitals):
        return True
    if kind == "flag":
        if capitals and _is_env_line(key.before):
            return True
        return values.is_made_up(value) and _is_flag(key.before)
    if key.text[match.start(kind) - 1] != "=":
        return False
    before = key.before
    if capitals or ("=" in before and _DSN.search(before)):
        return True
    if not values.is_made_up(value):
        return False
    line_start = before.rpartition("\n")[2].strip(" \t+-")
    own_line = not line_start or _PLAIN_NAME.fullmatch(line_start) is not None
    ends = key.text[match.end(kind) : match.end(kind) + 1] in ("", "\n", " ", "\r")
    return ends and (own_line or _is_flag(before))


def _is_yaml_value(key: _Key, match: re.Match[str], *, capitals: bool) -> bool:
    """Whether this is a line `key: value` and nothing else, with a key in capitals or beside a
    line that names a user or a host."""
    text, end = key.text, match.end("bare")
    if text[end : end + 1] not in ("", "\n", "\r") or _YAML_SIGN.search(text, key.end) is None:
        return False
    value = match["bare"]
    if not value.isalnum():
        return False
    if capitals and text[key.start : key.end].isupper():
        return True
    before = key.before.rpartition("\n")[2]
    plain = value.islower() or values.is_made_up(value)
    if not (plain and _YAML_KEY.fullmatch(before)):
        return False
    around = text[max(0, key.start - 120) : key.start], text[end : end + 120]
    return any(_YAML_ACCOUNT.search(part) for part in around)


def _quoted_is_secret(rule: str, value: str) -> bool:
    if any(c in value for c in " |<>(){}") or values.is_name_chain(value):
        return False
    if rule == "password":
        return len(value) >= 4
    return len(value) >= 8 and values.has_digit_and_letter(value)


def _bare_is_secret(key: _Key, match: re.Match[str], kind: str, value: str) -> bool:
    mixed = values.has_digit_and_letter(value) or (len(value) >= 8 and values.has_symbol(value))
    if key.rule == "password":
        if len(value) < 6:
            return False
        digits = kind != "said" and value.isdigit()
        return mixed or digits or _is_env(key, match, kind)
    if not mixed:
        return False
    if kind == "said" or (key.rule == "token" and kind == "bare" and not _is_env(key, match, kind)):
        return len(value) >= 12 and "=" not in value and values.count_digits(value) >= 3
    return len(value) >= 8 and "/" not in value


def _is_call(value: str, *, follows: str) -> bool:
    """Whether brackets show that this is code."""
    return any(c in value for c in "([{") or follows in ("(", "[", "{")


def _find_runs(key: _Key, lists: ValueLists, work: WorkCount) -> Iterator[SecretSpan]:
    """Random strings on the same line, shortly after a word that speaks of secrets."""
    text = key.text
    inside_word = key.start > 0 and _INSIDE_WORD.match(text, key.start - 1)
    if key.whole or inside_word or _GOES_ON.match(text, key.end):
        return
    line_end = text.find("\n", key.end, key.end + _RUN_WINDOW_CHARS)
    stop = line_end if line_end >= 0 else key.end + _RUN_WINDOW_CHARS
    at = key.end
    while (run := _RUN.search(text, at, stop + _RUN_CHARS)) and run.start() < stop:
        work.places += 1
        at = run.end()
        value = text[run.start() : run.start() + _VALUE_CHARS]
        if _is_lone_secret(value, before=text[max(0, run.start() - 12) : run.start()], lists=lists):
            at = rest_end(text, run.start())
            yield SecretSpan("high-entropy", run.start(), at)


def _is_lone_secret(stretch: str, *, before: str, lists: ValueLists) -> bool:
    run = _RUN.match(stretch)
    value = run.group().strip("./") if run else ""
    return (
        values.is_random(value)
        and lists.is_real(value)
        and not values.is_digest_or_id(value)
        and not values.is_name_chain(value)
        and not _NOT_BEFORE_RUN.search(before)
    )
