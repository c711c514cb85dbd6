"""Runs read-only `git` commands: no shell, prompt, network, lock or helper programs.

Invariant: a command never changes the repository and never outlives its timeout. `None` means that
git failed (missing, refused, broken repository, too slow); callers have a fallback.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

TIMEOUT_S = 20.0

# Disable everything that a repository's configuration could use to start another program.
_OPTIONS = (
    "--no-pager",
    "--literal-pathspecs",
    "-c", "core.fsmonitor=false",
    "-c", "core.quotePath=false",
    "-c", "log.showSignature=false",
    "-c", "i18n.logOutputEncoding=UTF-8",
)  # fmt: skip

_ENVIRONMENT = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "",
    "SSH_ASKPASS": "",
    "GCM_INTERACTIVE": "never",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_ALLOW_PROTOCOL": "",
    "GIT_PAGER": "cat",
    "LC_ALL": "C",
}


def git_program() -> str | None:
    """The path of git, or None when it is not installed."""
    if os.name != "posix":
        from shutil import which

        return which("git")
    # As `shutil.which` does, whose import takes longer than git itself.
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    programs = (f"{folder}/git" for folder in folders if folder)
    return next((one for one in programs if Path(one).is_file() and os.access(one, os.X_OK)), None)


def ask_git(
    folder: Path,
    arguments: Sequence[str],
    *,
    stdin: bytes = b"",
    timeout_s: float = TIMEOUT_S,
) -> bytes | None:
    """The output of a git command in a folder, or None."""
    program = git_program()
    if program is None:
        return None
    # Imported here because most commands find their project without git.
    import subprocess

    try:
        done = subprocess.run(
            [program, *_OPTIONS, *arguments],
            cwd=folder,
            env=_environment(),
            input=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=timeout_s,
            check=False,
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None


def _environment() -> dict[str, str]:
    """The caller's environment without anything that points git at another repository."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return kept | _ENVIRONMENT


def person(root: Path) -> str | None:
    """Who works here, as git knows them."""
    found = ask_git(root, ["config", "user.name"])
    name = "" if found is None else found.decode("utf-8", "replace").strip()
    return name[:80] or None
