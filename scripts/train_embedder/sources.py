"""Read the sources of the training text: wheels and git repositories of permissive licences.

A wheel's licence is taken from its metadata, a repository's from its licence file. Nothing but
MIT, BSD, Apache, ISC and PSF-like licences is read; the list that was used is in `sources.json`.
"""

from __future__ import annotations

import random
import re
import subprocess
import zipfile
from collections.abc import Iterator
from email.parser import HeaderParser
from pathlib import Path
from typing import NamedTuple

_ALLOWED = re.compile(r"^(MIT|Apache|BSD|0BSD|\(?the MIT)", re.IGNORECASE)
_REFUSED = re.compile(
    r"GPL|MPL|EPL|Mozilla|Commercial|Proprietary|CC[- ]BY|CDDL|SSPL|BUSL", re.IGNORECASE
)
_CLASSIFIED = re.compile(r"License :: OSI Approved :: (.+)")
_BIG = 400_000


class Source(NamedTuple):
    """Where text came from."""

    name: str
    version: str
    licence: str


class File(NamedTuple):
    """One file's path and bytes."""

    path: str
    content: bytes


def wheel_source(path: Path) -> Source | None:
    """The wheel's name, version and licence; None when the licence is not allowed or unclear."""
    with zipfile.ZipFile(path) as archive:
        names = [n for n in archive.namelist() if n.endswith(".dist-info/METADATA")]
        if not names:
            return None
        meta = HeaderParser().parsestr(archive.read(names[0]).decode("utf-8", "replace"))
    stated = [meta.get("License-Expression") or ""]
    stated += [m.group(1) for c in meta.get_all("Classifier", []) if (m := _CLASSIFIED.match(c))]
    if not any(stated):
        stated.append((meta.get("License") or "").strip().split("\n")[0][:60])
    stated = [s for s in stated if s]
    if any(_REFUSED.search(s) for s in stated):
        return None
    allowed = [s for s in stated if _ALLOWED.match(s)]
    if not allowed:
        return None
    return Source(str(meta["Name"]), str(meta["Version"]), allowed[0])


def wheel_files(path: Path, endings: tuple[str, ...], limit: int = 100_000) -> Iterator[File]:
    """Files of the wheel with these endings, in an order of chance that is always the same."""
    with zipfile.ZipFile(path) as archive:
        found = [
            info
            for info in sorted(archive.infolist(), key=lambda i: i.filename)
            if info.filename.endswith(endings)
            and not re.search(r"/(_vendor|vendored|tests?)/", info.filename)
            and info.file_size < _BIG
        ]
        random.Random(1).shuffle(found)
        for info in found[:limit]:
            yield File(info.filename, archive.read(info))


def repository_source(folder: Path) -> Source | None:
    """A bare repository's name, commit and licence."""
    commit = git(folder, "rev-parse", "HEAD").strip()
    tops = git(folder, "ls-tree", "--name-only", "HEAD").split("\n")
    names = [n for n in tops if re.search(r"licen[cs]e", n, re.IGNORECASE)]
    name = folder.parent.name.replace("+", "/")
    for top in names:
        text = git(folder, "show", f"HEAD:{top}")[:3000]
        if "Apache License" in text:
            return Source(name, commit, "Apache-2.0")
        if "Permission is hereby granted, free of charge" in text:
            return Source(name, commit, "MIT")
        if "Redistribution and use in source and binary forms" in text:
            return Source(name, commit, "BSD")
    return None


def repository_files(
    folder: Path,
    endings: tuple[str, ...],
    limit: int = 100_000,
    *,
    matching: re.Pattern[str] | None = None,
    biggest: int = _BIG,
) -> Iterator[File]:
    """Files of the newest commit with these endings, chosen as in a wheel."""
    rows = git(folder, "ls-tree", "-r", "-l", "HEAD").split("\n")
    wanted: list[tuple[str, str]] = []
    for row in rows:
        head, _, path = row.partition("\t")
        parts = head.split()
        sized = len(parts) == 4 and parts[3].isdecimal() and int(parts[3]) < biggest
        if (
            sized
            and path.endswith(endings)
            and (matching is None or matching.fullmatch(path))
            and not re.search(r"vendor|third_party|node_modules|generated|\.min\.", path)
        ):
            wanted.append((parts[2], path))
    random.Random(1).shuffle(wanted)
    del wanted[limit:]
    with subprocess.Popen(
        ["git", "-C", str(folder), "cat-file", "--batch"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for sha, path in wanted:
            process.stdin.write(sha.encode() + b"\n")
            process.stdin.flush()
            header = process.stdout.readline().split()
            if len(header) < 3:
                continue
            content = process.stdout.read(int(header[2]))
            process.stdout.read(1)
            yield File(path, content)
        process.stdin.close()


def git(folder: Path, *words: str) -> str:
    """Run git and return what it printed, also when it stopped at an object that is not there."""
    done = subprocess.run(["git", "-C", str(folder), *words], capture_output=True, check=False)
    return done.stdout.decode("utf-8", "replace")
