"""Whether a failure can teach something: it names a cause, and what helped can have helped."""

from __future__ import annotations

import re

from wellkept.observe.session.state import OpenFailure

_MIN_ERROR_LETTERS = 8
_NO_CAUSE = re.compile(
    r"exited with|exit code|returned non-zero"
    r"|^\W*\d+ (?:\w+ )?(?:issues?|errors?|problems?|warnings?)\b|\bcommand failed\b|script failed"
    r"|husky|pre-commit|lint-staged|ELIFECYCLE|npm ERR!|make: \*\*\*"
    r"|failed to update packages|process completed|^\w+\W*$|would have printed|tests? failed"
    r"|^\d\d:\d\d |^(?:warning|info|note)\b",
    re.I,
)
_PREPARES = re.compile(
    r"\b(?:install|ci|add|sync|migrate\w*|up|init|build|generate|start|login|restore|fetch|pull"
    r"|bootstrap|setup|prepare|compile|create|mkdir|link|seed|clean|rm)\b"
)


def tells_cause(failure: OpenFailure) -> bool:
    """Whether a failure names what went wrong: a test, or an error that is not a wrapper's."""
    if any(_NO_CAUSE.search(name) is None for name in failure.names):
        return True
    error = failure.error or ""
    return len(re.findall(r"[^\W\d_]", error)) >= _MIN_ERROR_LETTERS and not _NO_CAUSE.search(error)


def prepares(command: str) -> bool:
    """Whether a command can be what another one needs first: an installation, a migration."""
    return _PREPARES.search(command) is not None
