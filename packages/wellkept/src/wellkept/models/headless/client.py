"""What a headless client has to say about itself: its command line and how to read its answer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol, cast

from wellkept.core.errors import ProviderCause, ProviderError
from wellkept.core.ports.models import ChatAnswer
from wellkept.core.records import record
from wellkept.models.headless.private_folder import PrivateFolder
from wellkept.models.headless.process import Finished


@record(kw_only=True)
class HeadlessCall:
    """One call: what a client needs to build its command line."""

    model: str
    system: str
    max_tokens: int
    limit_s: float
    folder: PrivateFolder
    environment: Mapping[str, str]


@record
class CommandLine:
    """The words after the program's name, and variables to set for it."""

    arguments: tuple[str, ...]
    variables: Mapping[str, str]


class HeadlessClient(Protocol):
    """A coding client that can answer a prompt on standard input without its interface."""

    @property
    def name(self) -> str:
        """The short name in the settings."""
        ...

    @property
    def program(self) -> str:
        """The name of its program."""
        ...

    @property
    def login_check(self) -> tuple[str, ...]:
        """Arguments that end with 0 when the user is logged in; empty when there are none."""
        ...

    def usual_model(self, environment: Mapping[str, str]) -> str | None:
        """The model to ask when the settings name none."""
        ...

    def login_files(self, environment: Mapping[str, str]) -> tuple[Path, ...]:
        """The files that change when the user logs in."""
        ...

    def command_line(self, call: HeadlessCall) -> CommandLine:
        """Write what the client reads to the private folder; the command line to start it with."""
        ...

    def is_done(self, line: bytes) -> bool:
        """Whether a line of output says that the answer is complete."""
        ...

    def read(self, done: Finished) -> ChatAnswer:
        """The answer in what it printed; ProviderError when there is none."""
        ...

    def clean_up(self, folder: PrivateFolder) -> None:
        """Remove what the call left behind."""
        ...


def home_of(environment: Mapping[str, str]) -> Path:
    """The user's home folder."""
    return Path(environment.get("HOME") or environment.get("USERPROFILE") or Path.home())


def json_lines(raw: bytes) -> list[dict[str, object]]:
    """The JSON objects among lines of output."""
    found: list[dict[str, object]] = []
    for line in raw.splitlines():
        value = parsed(line)
        if value is not None:
            found.append(value)
    return found


def parsed(raw: bytes) -> dict[str, object] | None:
    """A JSON object; None for anything else."""
    try:
        value: object = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, object]", value) if isinstance(value, dict) else None


def table(value: object, name: str) -> dict[str, object]:
    """The object under a name; empty when there is none."""
    found = cast("dict[str, object]", value).get(name) if isinstance(value, dict) else None
    return cast("dict[str, object]", found) if isinstance(found, dict) else {}


def text_in(value: object, name: str) -> str:
    """The string under a name; empty when there is none."""
    found = cast("dict[str, object]", value).get(name) if isinstance(value, dict) else None
    return found if isinstance(found, str) else ""


def total(value: Mapping[str, object], *names: str) -> int | None:
    """The sum of counts; None when none is given."""
    counts = [
        found
        for name in names
        if isinstance(found := value.get(name), int) and not isinstance(found, bool)
    ]
    return sum(counts) if counts else None


def cause_of(message: str, status: object = None) -> ProviderCause:
    """The cause of a client's failure, from an HTTP status or the words of its message."""
    said = f"{status or ''} {message}".lower()
    if any(word in said for word in ("401", "403", "log in", "logged in", "login", "unauthor")):
        return "login"
    signs = ("429", "500", "502", "503", "504", "529", "overloaded", "rate limit", "quota")
    return "busy" if any(sign in said for sign in signs) else "other"


def failed(client: str, message: str, *, cause: ProviderCause) -> ProviderError:
    """The error of a client that gave no answer."""
    said = " ".join(message.split())[:200] or "no answer"
    hint = "Log in to the client again." if cause == "login" else None
    return ProviderError(f"{client} failed: {said}", hint=hint, cause=cause)
