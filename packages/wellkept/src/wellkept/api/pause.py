"""`wellkept off` and `on`: pause the hooks of every client, everywhere or in one folder.

The pauses are lines of one file (`store.pause`), replaced as a whole. Hooks look for it at every
event, so a pause holds at once, in sessions that are open too.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from wellkept.core.clock import Clock, from_ms, system_clock, to_ms
from wellkept.core.errors import StoreError, UsageError
from wellkept.core.records import record
from wellkept.store.pause import (
    ALL,
    EVERYWHERE,
    SAY,
    PauseLine,
    covers,
    format_pauses,
    is_on,
    parse_pauses,
)
from wellkept.store.spool import OFF_NAME, make_private_folder, state_folder

_DURATION: Final = re.compile(r"(\d{1,6})\s*([smhdw])", re.IGNORECASE)
_UNITS: Final = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


@record(kw_only=True)
class Pause:
    """Hooks say nothing in this folder (None: everywhere), and with `capture` also keep nothing.

    `until` is None when it ends with `wellkept on`."""

    folder: Path | None = None
    until: datetime | None = None
    capture: bool = False

    @property
    def text(self) -> str:
        """The pause in words."""
        what = "Hooks say and capture nothing" if self.capture else "Hooks say nothing"
        where = f" in {self.folder}" if self.folder else ""
        end = f" until {self.until:%Y-%m-%d %H:%M} UTC" if self.until else ""
        return f"{what}{where}{end}; `wellkept on` ends that."


class Pauses:
    """The pauses of one state folder; None when there is no home folder, and so no hook."""

    def __init__(self, state: Path | None, *, clock: Clock = system_clock) -> None:
        self._file = None if state is None else state / OFF_NAME
        self._clock = clock

    @classmethod
    def of(cls, environment: Mapping[str, str], *, clock: Clock = system_clock) -> Pauses:
        """The pauses of the user's state folder."""
        state = state_folder(environment)
        return cls(None if state is None else Path(state), clock=clock)

    def list(self, *, folder: Path | None = None) -> tuple[Pause, ...]:
        """The pauses that are on; with a folder those that hold in it."""
        real = None if folder is None else os.path.realpath(folder)
        found = [one for one in self._lines() if real is None or covers(one, real)]
        return tuple(_pause(one) for one in found)

    def add(
        self, *, folder: Path | None = None, duration: str | None = None, capture: bool = False
    ) -> Pause:
        """Pause the hooks, everywhere or in a folder; replaces an earlier pause of that place."""
        end = to_ms(self._clock() + parse_duration(duration)) if duration else 0
        where = EVERYWHERE if folder is None else _one_line(os.path.realpath(folder))
        line = (end, ALL if capture else SAY, where)
        self._write([*(one for one in self._lines() if one[2] != where), line])
        return _pause(line)

    def end(self, *, folder: Path | None = None) -> tuple[Pause, ...]:
        """End every pause, or those that only a folder has; what ended."""
        real = None if folder is None else os.path.realpath(folder)
        lines = self._lines()
        ended = [
            one for one in lines if real is None or (one[2] != EVERYWHERE and covers(one, real))
        ]
        self._write([one for one in lines if one not in ended])
        return tuple(_pause(one) for one in ended)

    def _lines(self) -> list[PauseLine]:
        try:
            text = "" if self._file is None else self._file.read_text("utf-8", "replace")
        except FileNotFoundError:
            return []
        except OSError as error:
            raise StoreError(f"Cannot read {self._file}: {error.strerror}.") from None
        return [one for one in parse_pauses(text) if is_on(one, to_ms(self._clock()))]

    def _write(self, lines: list[PauseLine]) -> None:
        if self._file is None:
            raise UsageError("There is no home folder.", hint="Set HOME or WELLKEPT_HOME.")
        try:
            if not lines:
                self._file.unlink(missing_ok=True)
                return
            make_private_folder(str(self._file.parent))
            draft = self._file.with_name(f"{OFF_NAME}.{os.getpid()}")
            draft.write_text(format_pauses(lines), "utf-8")
            draft.chmod(0o600)
            draft.replace(self._file)
        except OSError as error:
            raise StoreError(f"Cannot write {self._file}: {error.strerror}.") from None


def parse_duration(text: str) -> timedelta:
    """A time such as `30m`, `1h` or `2d`. UsageError for anything else."""
    found = _DURATION.fullmatch(text.strip())
    if found is None or not int(found[1]):
        raise UsageError(
            f"{text!r} is not a duration.", hint="Use a number and s, m, h, d or w, such as 1h."
        )
    return timedelta(**{_UNITS[found[2].lower()]: int(found[1])})


def _pause(line: PauseLine) -> Pause:
    end, what, where = line
    return Pause(
        folder=None if where == EVERYWHERE else Path(where),
        until=from_ms(end) if end else None,
        capture=what == ALL,
    )


def _one_line(folder: str) -> str:
    if folder != " ".join(folder.splitlines()):
        raise UsageError("A folder with a line break in its name cannot be paused by itself.")
    return folder
