"""Write packaging/requirements-hashed.txt: what the wheels need to run, pinned with its hashes.

    .venv/bin/python -m scripts.hash_pins

The pins are those of constraints.txt; the hashes are those that pip's package index names for every
file of that version. `pip install --require-hashes -r` takes nothing else.
"""

from __future__ import annotations

import json
import re
import sys
import urllib.request
from importlib.metadata import requires
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name, parse_sdist_filename, parse_wheel_filename
from packaging.version import Version
from pip._internal.models.index import PyPI

from scripts.dist import DISTRIBUTIONS, ROOT, project

HASHED = ROOT / "packaging" / "requirements-hashed.txt"
_FILE = re.compile(r"/([^/\"#]+)#sha256=([0-9a-f]{64})")
_TIMEOUT_S = 60


def needed() -> dict[str, str]:
    """Name and pinned version of everything that the distributions need to run."""
    lines = (ROOT / "constraints.txt").read_text("utf-8").split()
    pins: dict[str, str] = {}
    for name, pin in (line.split("==") for line in lines):
        pins[canonicalize_name(name)] = pin
    todo = [Requirement(one) for name in DISTRIBUTIONS for one in project(name)["dependencies"]]
    seen: set[tuple[str, str]] = set()
    while todo:
        one = todo.pop()
        name = canonicalize_name(one.name)
        for extra in ("", *one.extras):
            if (name, extra) not in seen:
                seen.add((name, extra))
                todo += _asked_by(name, extra)
    return {name: pins[name] for name in sorted({name for name, _ in seen} - set(DISTRIBUTIONS))}


def _asked_by(name: str, extra: str) -> list[Requirement]:
    if name in DISTRIBUTIONS:
        lines: list[str] = project(name)["optional-dependencies"][extra] if extra else []
        return [Requirement(line) for line in lines]
    asked = [Requirement(line) for line in requires(name) or ()]
    return [one for one in asked if one.marker is None or one.marker.evaluate({"extra": extra})]


def hashes(name: str, pin: str) -> list[str]:
    """The hashes of all files of one version."""
    with urllib.request.urlopen(f"{PyPI.simple_url}/{name}/", timeout=_TIMEOUT_S) as answer:
        files = _FILE.findall(answer.read().decode())
    return sorted({digest for file, digest in files if _version(file) == Version(pin)})


def _version(file: str) -> Version | None:
    try:
        return (parse_wheel_filename if file.endswith(".whl") else parse_sdist_filename)(file)[1]
    except ValueError:
        return None  # a form of old


def read() -> dict[str, tuple[str, list[str]]]:
    """Version and hashes of each name in the file."""
    blocks = re.findall(r"^(\S+)==(\S+)((?: \\\n    --hash=sha256:[0-9a-f]{64})+)$",
                        HASHED.read_text("utf-8"), re.MULTILINE)  # fmt: skip
    return {name: (pin, re.findall(r"[0-9a-f]{64}", rest)) for name, pin, rest in blocks}


def lacking(bill: Path) -> list[str]:
    """What the wheels need and a bill of materials does not name in that version."""
    parts = json.loads(bill.read_text("utf-8"))["components"]
    named = {(canonicalize_name(one["name"]), one["version"]) for one in parts}
    return [f"{name}=={pin}" for name, pin in needed().items() if (name, pin) not in named]


def main() -> None:
    """Write the file, or check a bill of materials."""
    if sys.argv[1:2] == ["--in-bill"]:
        if missing := lacking(Path(sys.argv[2])):
            raise SystemExit(f"{sys.argv[2]} lacks {', '.join(missing)}.")
        return
    parts: list[str] = []
    for name, pin in needed().items():
        found = hashes(name, pin)
        if not found:
            raise SystemExit(f"The index has no file of {name} {pin}.")
        parts.append(
            " \\\n".join([f"{name}=={pin}", *(f"    --hash=sha256:{one}" for one in found)])
        )
    HASHED.write_text("\n".join(parts) + "\n", "utf-8")


if __name__ == "__main__":
    main()
