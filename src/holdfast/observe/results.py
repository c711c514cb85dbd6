"""What came of a command: which tests failed, how many passed, and the line that names the error.

Reads what the common test runners and compilers print. Unknown output gives no result rather than
a guess.
"""

from __future__ import annotations

import re

from holdfast.core.records import record
from holdfast.core.text import shorten

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


_NAMES = tuple(
    re.compile(pattern, re.MULTILINE)
    for pattern in (
        r"^(?:FAILED|ERROR) (?P<name>\S+\.py(?:::\S.*?)?)(?: - .*)?$",
        r"^(?:FAIL|ERROR): (?P<name>\w+) \([\w.]+\)",
        r"^\s*● (?P<name>(?!Console).+ › .+)$",
        r"^\s*(?:✕|×|✗|✘) (?P<name>.+?)(?: \(?[\d.]+ ?m?s\)?)?$",
        r"^\s*FAIL\s+\S+ > (?P<name>.+)$",
        r"^\s*--- FAIL: (?P<name>\w[\w/]*)",
        r"^test (?P<name>\S+) \.\.\. FAILED",
        r"^rspec \S+ # (?P<name>.+)$",
        r"^not ok \d+ - (?P<name>.+?)(?: #.*)?$",
        r"^\[ERROR\]\s+(?P<name>\w+\.\w+):\d+",
        r"^\s+Failed (?P<name>[\w.]+) \[",
    )
)
_FAILED = tuple(
    re.compile(pattern, re.MULTILINE)
    for pattern in (
        r"^=+ .*?(?P<n>\d+) (?:failed|errors?)\b",
        r"^(?P<n>\d+) failed\b.* in [\d.]+s",
        r"^FAILED \((?:failures|errors)=(?P<n>\d+)",
        r"^\s*Tests:?\s+(?P<n>\d+) failed",
        r"test result: FAILED\. \d+ passed; (?P<n>\d+) failed",
        r"\d+ examples?, (?P<n>\d+) failures?",
        r"^\s*(?P<n>\d+) failing$",
        r"^# fail (?P<n>\d+)$",
        r"Tests run: \d+, Failures: (?P<n>\d+)",
        r"Failed:\s+(?P<n>\d+), Passed:",
        r"Failures: (?P<n>\d+)\.",
    )
)
_PASSED = tuple(
    re.compile(pattern, re.MULTILINE)
    for pattern in (
        r"^=+ .*?(?P<n>\d+) passed",
        r"^(?:\d+ failed, )?(?P<n>\d+) passed\b.* in [\d.]+s",
        r"^Ran (?P<n>\d+) tests? in",
        r"^\s*Tests:?\s+(?:\d+ failed[,|\s]+)?(?:\d+ (?:skipped|todo)[,|\s]+)*(?P<n>\d+) passed",
        r"test result: \w+\. (?P<n>\d+) passed",
        r"(?P<n>\d+) examples?, \d+ failures?",
        r"^\s*(?P<n>\d+) passing\b",
        r"^# pass (?P<n>\d+)$",
        r"Tests run: (?P<n>\d+), Failures: 0",
        r"Passed:\s+(?P<n>\d+)",
        r"^OK \((?P<n>\d+) tests?",
    )
)
_ERRORS = tuple(
    re.compile(pattern, re.MULTILINE)
    for pattern in (
        r"^(?:E\s+)?(?P<line>(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Fault|Exit)\b:? ?.*)$",
        r"^(?:FAILED|ERROR) \S+ - (?P<line>.+)$",
        r"(?P<line>\berror TS\d+: .+)$",
        r"(?P<line>\berror\[E\d+\]: .+)$",
        r"^(?P<line>panic: .+)$",
        r"^\s+(?P<line>\S+_test\.go:\d+: .+)$",
        r"^(?P<line>[\w./-]+:\d+:\d+: (?:fatal )?error: .+)$",
        r"^(?:npm (?:ERR!|error)) (?P<line>(?!A complete log|code |errno ).{8,})$",
        r"^(?:.*: )?(?P<line>\S+: command not found)$",
        r"^(?P<line>(?:fatal|error|ERROR|Error): .+)$",
        r"^(?P<line>.*(?:No such file or directory|Permission denied|Connection refused).*)$",
        r"^\s*(?P<line>(?:Expected|expected)\b.+)$",
    )
)
_EMPTY_LINE = re.compile(
    r"^(?:Exit code \d+|exit status:? \d+|Command failed.*|FAIL\b.*|=+.*=|\s*)$"
)


def read_tests(output: str) -> TestResult | None:
    """What a test run reported; None when nothing in the output looks like a report."""
    names = dict.fromkeys(
        _plain_name(match["name"]) for rule in _NAMES for match in rule.finditer(output)
    )
    failed, passed = _last_number(_FAILED, output), _last_number(_PASSED, output)
    if not names and failed is None and passed is None:
        return None
    return TestResult(passed, failed, tuple(names)[:MAX_NAMES])


def error_line(*texts: str | None) -> str | None:
    """The line that names what went wrong, from the first text that has one."""
    for text in texts:
        for rule in _ERRORS if text else ():
            found = [m["line"].strip() for m in rule.finditer(text or "")]
            if found:
                return shorten(found[-1], limit=MAX_ERROR_CHARS)
    rest = [
        line.strip()
        for text in texts
        for line in (text or "").splitlines()
        if not _EMPTY_LINE.match(line)
    ]
    return shorten(rest[-1], limit=MAX_ERROR_CHARS) if rest else None


def short_test_name(name: str) -> str:
    """A test's own name without its file and suite."""
    return re.split(r"::| › | > ", name)[-1].strip()


def _plain_name(name: str) -> str:
    return shorten(" ".join(name.split()), limit=160)


def _last_number(rules: tuple[re.Pattern[str], ...], output: str) -> int | None:
    for rule in rules:
        numbers = [int(match["n"]) for match in rule.finditer(output)]
        if numbers:
            return numbers[-1]
    return None
