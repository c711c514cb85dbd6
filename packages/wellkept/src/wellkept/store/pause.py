"""Pauses of the hooks: the one file that `wellkept off` writes and every hook looks for.

A line is a pause: `<end in milliseconds, 0 for none> <what is paused> <folder, * for everywhere>`.
A line that cannot be read is no pause. An ended pause stays in the file until somebody writes it
again; readers go by the time.

The hook process reads it while a pause is on, so nothing is imported here.
"""

SAY, ALL = "say", "all"
EVERYWHERE = "*"

PauseLine = tuple[int, str, str]
"""End in milliseconds or 0, what is paused, folder."""


def parse_pauses(text: str) -> list[PauseLine]:
    """The pauses in a file, ended ones included."""
    found: list[PauseLine] = []
    for line in text.splitlines():
        end, _, rest = line.partition(" ")
        what, _, folder = rest.partition(" ")
        if end.isdecimal() and what in (SAY, ALL) and folder:
            found.append((int(end), what, folder))
    return found


def format_pauses(pauses: "list[PauseLine]") -> str:
    """The file's text."""
    return "".join(f"{end} {what} {folder}\n" for end, what, folder in pauses)


def is_on(pause: PauseLine, now_ms: int) -> bool:
    """Whether a pause has not ended."""
    return pause[0] == 0 or now_ms < pause[0]


def covers(pause: PauseLine, folder: str) -> bool:
    """Whether a pause holds in a folder, given as a real path."""
    where = pause[2]
    return where in (EVERYWHERE, folder) or folder.startswith(where.rstrip("/\\") + "/")
