"""Write out the Claude Code transcripts that a public repository keeps on an `entire/…` branch.

    python -m bench.published_transcripts CLONE FOLDER

CLONE is a clone with all branches. Checkpoints hold growing copies of a session; the longest one
of each session is written to FOLDER as SESSION.jsonl. Nothing is downloaded.
"""

from __future__ import annotations

import argparse
import re
import subprocess
from pathlib import Path

from bench.report import say

_HEAD_LINES = 60
_SESSION = re.compile(rb'"sessionId"\s*:\s*"([\w-]+)"')


def main() -> None:
    """Write the transcripts of one clone."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("clone", type=Path)
    arguments.add_argument("folder", type=Path)
    options = arguments.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    sessions = published_sessions(options.clone)
    for name, text in sessions.items():
        (options.folder / f"{name}.jsonl").write_bytes(text)
    say(f"{len(sessions)} sessions written to {options.folder}")


def published_sessions(clone: Path) -> dict[str, bytes]:
    """The longest copy of each session, by its id."""
    sessions: dict[str, bytes] = {}
    for blob in sorted(_blobs(clone)):
        text = _git(clone, "cat-file", "blob", blob)
        name = _session_id(text)
        if name is not None and len(text) > len(sessions.get(name, b"")):
            sessions[name] = text
    return sessions


def _blobs(clone: Path) -> set[str]:
    refs = _git(clone, "for-each-ref", "--format=%(refname)").decode().split()
    found: set[str] = set()
    for ref in refs:
        if "entire/" in ref:
            for line in _git(clone, "ls-tree", "-r", ref).decode(errors="replace").splitlines():
                head, _, path = line.partition("\t")
                if path.endswith(".jsonl"):
                    found.add(head.split()[2])
    return found


def _session_id(text: bytes) -> str | None:
    for line in text.splitlines()[:_HEAD_LINES]:
        if (match := _SESSION.search(line)) is not None:
            return match[1].decode()
    return None


def _git(clone: Path, *arguments: str) -> bytes:
    return subprocess.run(
        ["git", "-C", str(clone), *arguments], capture_output=True, check=True
    ).stdout


if __name__ == "__main__":
    main()
