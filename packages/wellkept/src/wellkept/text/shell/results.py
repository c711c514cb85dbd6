"""Parse command output: failed tests, counts, and the line that names an error.

Knows the output of common test runners and compilers. Unknown output gives no result.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from wellkept.core.records import record
from wellkept.core.text import content_words, shorten

MAX_NAMES = 12
MAX_ERROR_CHARS = 240


@record
class TestResult:
    """The outcome of a test run, as far as its output tells."""

    passed: int | None
    failed: int | None
    names: tuple[str, ...] = ()

    @property
    def is_failure(self) -> bool:
        """Whether a test failed."""
        return bool(self.failed) or bool(self.names)


@record
class _Rule:
    """A pattern for a line from its beginning, and words of which such a line holds one.

    Looking for words is many times faster than trying a pattern at every place.
    """

    words: tuple[str, ...]
    pattern: re.Pattern[str]

    def found(self, text: str) -> Iterator[re.Match[str]]:
        """The lines of a text that fit, in order."""
        for start in self._line_starts(text):
            end = text.find("\n", start)
            line_end = len(text) if end < 0 else end
            if match := self.pattern.match(text, start, line_end):
                yield match

    def _line_starts(self, text: str) -> list[int]:
        starts: set[int] = set()
        for word in self.words:
            at = text.find(word)
            while at >= 0:
                starts.add(text.rfind("\n", 0, at) + 1)
                line_end = text.find("\n", at)
                at = text.find(word, line_end) if line_end >= 0 else -1
        return sorted(starts)


def _rules(*rules: tuple[str, str]) -> tuple[_Rule, ...]:
    return tuple(_Rule(tuple(words.split("|")), re.compile(pattern)) for words, pattern in rules)


_NAMES = _rules(
    ("FAILED |ERROR ", r"(?:FAILED|ERROR) (?P<name>\S+\.py(?:::\S.*?)?)(?: - .*)?$"),
    ("FAIL: |ERROR: ", r"(?:FAIL|ERROR): (?P<name>\w+) \([\w.]+\)"),
    ("● ", r"\s*● (?P<name>(?!Console).+ › .+)$"),
    ("✕ |× |✗ |✘ ", r"\s*(?:✕|×|✗|✘) (?P<name>.+?)(?: \(?[\d.]+ ?m?s\)?)?$"),
    ("FAIL", r"\s*FAIL\s+\S+ > (?P<name>.+)$"),
    ("--- FAIL: ", r"\s*--- FAIL: (?P<name>\w[\w/]*)"),
    (" ... FAILED", r"test (?P<name>\S+) \.\.\. FAILED"),
    ("rspec ", r"rspec \S+ # (?P<name>.+)$"),
    ("not ok ", r"not ok \d+ - (?P<name>.+?)(?: #.*)?$"),
    ("[ERROR]", r"\[ERROR\]\s+(?P<name>\w+\.\w+):\d+"),
    ("Failed ", r"\s+Failed (?P<name>[\w.]+) \["),
)
_FAILED = _rules(
    (" failed| error", r"=+ .*?(?P<n>\d+) (?:failed|errors?)\b"),
    (" failed", r"(?P<n>\d+) failed\b.* in [\d.]+s"),
    ("FAILED (", r"FAILED \((?:failures|errors)=(?P<n>\d+)"),
    ("Tests", r"\s*Tests:?\s+(?P<n>\d+) failed"),
    ("test result: FAILED", r".*?test result: FAILED\. \d+ passed; (?P<n>\d+) failed"),
    (" example", r".*?\d+ examples?, (?P<n>\d+) failures?"),
    (" failing", r"\s*(?P<n>\d+) failing$"),
    ("# fail ", r"# fail (?P<n>\d+)$"),
    ("Tests run: ", r".*?Tests run: \d+, Failures: (?P<n>\d+)"),
    ("Failed:", r".*?Failed:\s+(?P<n>\d+), Passed:"),
    ("Failures: ", r".*?Failures: (?P<n>\d+)\."),
    (" fail", r"\s*(?P<n>\d+) fail$"),
    (" failed", r"\s*(?P<n>\d+) failed$"),
    (" failed", r".*?\b(?P<n>\d+) failed\b.*\(\d+m?s\)$"),
    ("Some tests failed", r".*-(?P<n>\d+): Some tests failed"),
)
_PASSED = _rules(
    (" passed", r"=+ .*?(?P<n>\d+) passed"),
    (" passed", r"(?:\d+ failed, )?(?P<n>\d+) passed\b.* in [\d.]+s"),
    ("Ran ", r"Ran (?P<n>\d+) tests? in"),
    (
        "Tests",
        r"\s*Tests:?\s+(?:\d+ failed[,|\s]+)?(?:\d+ (?:skipped|todo)[,|\s]+)*(?P<n>\d+) passed",
    ),
    ("test result: ", r".*?test result: \w+\. (?P<n>\d+) passed"),
    (" example", r".*?(?P<n>\d+) examples?, \d+ failures?"),
    (" passing", r"\s*(?P<n>\d+) passing\b"),
    ("# pass ", r"# pass (?P<n>\d+)$"),
    ("Tests run: ", r".*?Tests run: (?P<n>\d+), Failures: 0"),
    ("Passed:", r".*?Passed:\s+(?P<n>\d+)"),
    ("OK (", r"OK \((?P<n>\d+) tests?"),
    (" pass", r"\s*(?P<n>\d+) pass$"),
    (" passed", r"\s*(?P<n>\d+) passed(?: \([\d.]+m?s?\))?$"),
    ("All tests passed", r".*\+(?P<n>\d+).*: All tests passed"),
    (" passed", r"ok \| (?P<n>\d+) passed \|"),
)
_ERRORS = _rules(
    (
        "Error|Exception|Fault|Exit",
        r"(?:E\s+)?(?P<line>(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Fault|Exit)\b:? ?.*)$",
    ),
    ("FAILED |ERROR ", r"(?:FAILED|ERROR) \S+ - (?P<line>.+)$"),
    ("error TS", r".*?(?P<line>\berror TS\d+: .+)$"),
    ("error[E", r".*?(?P<line>\berror\[E\d+\]: .+)$"),
    ("panic: ", r"(?P<line>panic: .+)$"),
    ("_test.go:", r"\s+(?P<line>\S+_test\.go:\d+: .+)$"),
    ("error: ", r"(?P<line>[\w./-]+:\d+:\d+: (?:fatal )?error: .+)$"),
    (
        "npm ERR! |npm error ",
        r"(?:npm (?:ERR!|error)) (?P<line>(?!A complete log|code |errno ).{8,})$",
    ),
    (": command not found", r"(?:.*: )?(?P<line>\S+: command not found)$"),
    ("fatal: |error: |ERROR: |Error: ", r"(?P<line>(?:fatal|error|ERROR|Error): .+)$"),
    (
        "No such file or directory|Permission denied|Connection refused",
        r"(?P<line>.*(?:No such file or directory|Permission denied|Connection refused).*)$",
    ),
    ("xpected", r"\s*(?P<line>(?:Expected|expected)\b.+)$"),
)
# A person, a rule or the client itself stopped the call; it says nothing about the command.
_STOPPED = (
    "interrupted by",
    "request interrupted",
    "doesn't want to",
    "was rejected",
    "permission to use",
    "<tool_use_error>",
)
_EMPTY_LINE = re.compile(
    r"^(?:Exit code \d+|exit status:? \d+|Command failed.*|FAIL\b.*|=+.*=|\s*)$"
)


_CI_FAILED = re.compile(
    r"\b(?:fail(?:ed|ure|ing)|error|cancelled)\b|^X |\u2717|\u274c", re.I | re.M
)
_SIGNATURE_CHARS = 160
_MIN_WORDS = 2
_VARYING = re.compile(
    r"0x[0-9a-f]+|\b[0-9a-f]{7,40}\b|\d+(?:\.\d+)*|(?<=['\"`])[^'\"`]{40,}(?=['\"`])", re.I
)
_FOLDERS = re.compile(r"(?:[A-Za-z]:)?(?:[\w.@-]*[/\\])+(?=[\w.@-])")
_EMPTY_WORDS = frozenset(
    "error errors err failed failure failures fail failing fatal warning warnings exception task"
    " tasks script scripts exit exited exits status code command commands process run running"
    " returned problem problems issue issues found see log logs output details more information"
    " verbose non-zero nonzero total summary".split()
)
_LIKE_ERROR = re.compile(
    r"error|exception|fatal|panic|fail|fault|cannot|can't|could ?n[o']t|unable|no such|denied"
    r"|refused|invalid|undefined|unknown|unrecogni[sz]ed|missing|unexpected|unsupported|illegal"
    r"|conflict|tim(?:ed|e) ?out|exceed|exhausted|in use|required|mismatch|already|expected|abort"
    r"|locked|stale|corrupt|\bmust\b|\bno\b|\bnot\b|n't\b|:\d+(?::\d+)?:|[^\W\d_a-zA-Z]",
    re.I,
)


def was_stopped(error: str | None) -> bool:
    """Whether a call never ran to its end by its own doing."""
    head = (error or "")[:200].lower()
    return any(phrase in head for phrase in _STOPPED)


# Several readers ask about the call that came back last.
@lru_cache(maxsize=4)
def read_tests(output: str) -> TestResult | None:
    """What a test run reported; None when nothing in the output looks like a report."""
    names = dict.fromkeys(
        _plain_name(match["name"]) for rule in _NAMES for match in rule.found(output)
    )
    failed, passed = _last_number(_FAILED, output), _last_number(_PASSED, output)
    if not names and failed is None and passed is None:
        return None
    return TestResult(passed, failed, tuple(names)[:MAX_NAMES])


@lru_cache(maxsize=4)
def error_line(*texts: str | None) -> str | None:
    """The line that names what went wrong, from the first text that has one."""
    for text in texts:
        for rule in _ERRORS if text else ():
            found = [m["line"].strip() for m in rule.found(text or "")]
            if found:
                return shorten(found[-1], limit=MAX_ERROR_CHARS)
    rest = [
        line.strip()
        for text in texts
        for line in (text or "").splitlines()
        if not _EMPTY_LINE.match(line)
    ]
    return shorten(rest[-1], limit=MAX_ERROR_CHARS) if rest else None


def is_ci_failure(output: str) -> bool:
    """Whether the status of a CI run reports a failure."""
    return _CI_FAILED.search(output) is not None


def is_informative(line: str, *, command: str) -> bool:
    """Whether a line says what went wrong, beyond that the command failed."""
    own = set(content_words(re.sub(r"[^\w]+", " ", command)))
    words = {w for w in content_words(line) if (len(w) > 2 or not w.isascii()) and not w.isdigit()}
    return _LIKE_ERROR.search(line) is not None and len(words - own - _EMPTY_WORDS) >= _MIN_WORDS


def error_signature(subject: str, line: str) -> str:
    """An error without what varies: numbers, addresses, folders."""
    stable = _VARYING.sub("#", _FOLDERS.sub("", line)).lower()
    return shorten(f"{subject.rstrip(': ')}: {stable}", limit=_SIGNATURE_CHARS)


def short_test_name(name: str) -> str:
    """A test's own name without its file and suite."""
    return re.split(r"::| › | > ", name)[-1].strip()


def _plain_name(name: str) -> str:
    return shorten(" ".join(name.split()), limit=160)


def _last_number(rules: tuple[_Rule, ...], output: str) -> int | None:
    for rule in rules:
        numbers = [int(match["n"]) for match in rule.found(output)]
        if numbers:
            return numbers[-1]
    return None
