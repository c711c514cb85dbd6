"""What the reader of command lines says is what bash runs (G2, G8)."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from wellkept.text.shell.strict_reader import plain_commands

pytestmark = [
    pytest.mark.feature("G2", "G8"),
    pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash"),
]

_PIECES = st.sampled_from(
    ["a", "b", "p", "p ", " ", "'", '"', "\\", "\n", ";", "|", "&", "&&", "||", "$", "`", "(", ")",
     "<", ">", "#", "{", "}", ",", "..", "=", "*", "?", "[", "]", "~", "2>&1", "!", "$a", "${a}",
     "$'", '$"', "\t", "\r", "é", "-", "$(", "<(", "<<", "<<<", "\\\n", "p a", "p 'a b'", "b=",
     ";;", "|&", "&>", ">|", "2>", "if", "p;p", "[[", "((", "$((", "${a:-b}", "\\'", '\\"']
)  # fmt: skip
_RECORD = """
note() { local text; printf -v text '\\t%q' "$@"; printf '%s\\n' "$#$text" >> "$NOTES"; }
p() { note p "$@"; }
command_not_found_handle() { note "$@"; }
eval "$LINE"
"""


@given(st.lists(_PIECES, min_size=1, max_size=9).map("".join))
@settings(
    max_examples=int(os.environ.get("WELLKEPT_SHELL_EXAMPLES", "80")),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_bash_runs_nothing_that_was_not_read(tmp_path: Path, line: str) -> None:
    commands = plain_commands(line)
    if commands is None or any(
        word.expands or word.globs for one in commands for word in one.words
    ):
        return
    ran = _run(tmp_path, line)
    read = [[word.text for word in one.words] for one in commands if one.words]
    tilde = any(word.tilde for one in commands for word in one.words)
    if tilde:
        assert len(ran) <= len(read)
        return
    for words in ran:
        assert words in read, (line, ran, read)


def _run(folder: Path, line: str) -> list[list[str]]:
    """The program calls that bash really makes for a line."""
    notes = folder / "notes"
    notes.unlink(missing_ok=True)
    place = folder / "place"
    place.mkdir(exist_ok=True)
    environment = {
        "PATH": "/nonexistent",
        "LINE": line,
        "NOTES": str(notes),
        "HOME": "/nonexistent",
    }
    bash = shutil.which("bash")
    assert bash is not None
    subprocess.run(
        [bash, "-c", _RECORD], cwd=place, env=environment, capture_output=True, stdin=subprocess.DEVNULL,
        timeout=20, check=False,
    )  # fmt: skip
    if not notes.exists():
        return []
    unquote = 'while IFS= read -r line; do eval "set -- ${line#*\t}"; printf "%s\\0" "$@"; printf "\\1"; done'
    done = subprocess.run(
        [bash, "-c", unquote], stdin=notes.open("rb"), capture_output=True, check=True
    )
    calls = done.stdout.decode("utf-8", "surrogateescape").split("\1")[:-1]
    return [one.split("\0")[:-1] for one in calls]
