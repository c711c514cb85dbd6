"""Hold a tag against the version and the change log, or print a version's notes.

python -m scripts.release_check v0.1.0           fail unless all three agree
python -m scripts.release_check --notes v0.1.0   print what changed in it
"""

from __future__ import annotations

import re
import sys

from scripts.dist import ROOT, version

_HEADING = re.compile(r"^## (\d+\.\d+\.\d+)(?: \((.+)\))?$", re.MULTILINE)


def problems(tag: str, *, version: str, changelog: str) -> list[str]:
    """Why this tag must not be released."""
    found: list[str] = []
    if tag != f"v{version}":
        found.append(f"The tag is {tag}, but pyproject.toml says {version}.")
    dates = {heading[1]: heading[2] for heading in _HEADING.finditer(changelog)}
    if version not in dates:
        found.append(f"CHANGELOG.md has no section «## {version} (DATE)».")
    elif not re.fullmatch(r"\d{4}-\d{2}-\d{2}", dates[version] or ""):
        found.append(f"CHANGELOG.md says «{dates[version]}» for {version}; put the date there.")
    return found


def notes(version: str, changelog: str) -> str:
    """The section of a version, without its heading."""
    headings = [*_HEADING.finditer(changelog)]
    for number, heading in enumerate(headings):
        if heading[1] == version:
            following = headings[number + 1 : number + 2]
            end = following[0].start() if following else len(changelog)
            return changelog[heading.end() : end].strip() + "\n"
    raise SystemExit(f"CHANGELOG.md has no section for {version}.")


def main(arguments: list[str]) -> int:
    """Check a tag or print its notes."""
    *options, tag = arguments or [""]
    changelog = (ROOT / "CHANGELOG.md").read_text("utf-8")
    if "--notes" in options:
        print(notes(tag.removeprefix("v"), changelog), end="")
        return 0
    found = problems(tag, version=version(), changelog=changelog)
    print(*found, sep="\n", end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
