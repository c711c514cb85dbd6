"""How real skills fare: how many of a folder of them are read, keep the rules, and why not.

`python -m bench.skill_survey --folder DIR [--json] [--strict]`. Every SKILL.md below DIR is read as
Wellkept reads it and, for comparison, its front matter by PyYAML. Nothing is kept of the documents
but counts. A collection can be had with `git clone` of any repository of skills.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from time import process_time
from typing import cast

import yaml

from bench.report import finish, parser, say, table
from wellkept.core.codec import Json
from wellkept.core.skills import Skill, SkillFormat, SkillKind, SkillSource
from wellkept.skills.documents.finding_codes import CODES
from wellkept.skills.documents.front_matter import MAX_DOCUMENT_BYTES, decode, split_document
from wellkept.skills.documents.reader import read_skill
from wellkept.skills.sources.scanner import SKILL_FILES

_SOURCE = SkillSource(SkillKind.EXTERNAL, "survey", 75)
_LOADER = getattr(yaml, "CBaseLoader", yaml.BaseLoader)


def documents(folder: Path) -> Iterator[Path]:
    """Every SKILL.md below a folder."""
    for parent, _, names in os.walk(folder):
        for name in SKILL_FILES:
            if name in names:
                yield Path(parent) / name
                break


def plain_yaml_reads(data: bytes) -> bool:
    """Whether PyYAML takes the front matter for a mapping with a name and a description."""
    layout = split_document(decode(data)[0])
    try:
        value: object = yaml.load(layout.head, Loader=_LOADER)
    except (yaml.YAMLError, ValueError, RecursionError):
        return False
    fields = cast("dict[str, object]", value) if isinstance(value, dict) else {}
    return bool(fields.get("name")) and bool(fields.get("description"))


def _is_told(skill: Skill) -> bool:
    """Whether name and description come from the document itself."""
    codes = {finding.code for finding in skill.findings}
    return not codes & {"name-missing", "description-missing"}


def survey(folder: Path, *, strict: bool) -> dict[str, Json]:
    """The counts."""
    counts: Counter[str] = Counter()
    codes: Counter[str] = Counter()
    seconds = 0.0
    for path in documents(folder):
        data = path.read_bytes()
        counts["documents"] += 1
        if counts["documents"] % 5000 == 0:
            say(f"{counts['documents']:,} read")
        if len(data) > MAX_DOCUMENT_BYTES:
            codes["too-large"] += 1
            continue
        started = process_time()
        skill = read_skill(
            data, source=_SOURCE, format=SkillFormat.FULL, name=path.parent.name, strict=strict
        )
        seconds += process_time() - started
        counts["usable"] += skill.is_usable
        counts["with_name_and_description"] += _is_told(skill)
        counts["plain_yaml_reads_them"] += plain_yaml_reads(data)
        counts["valid"] += skill.is_valid
        counts["without_findings"] += not skill.findings
        codes.update({finding.code for finding in skill.findings})
    return {
        **{name: counts[name] for name in counts},
        "microseconds_each": round(seconds / max(1, counts["documents"]) * 1e6, 1),
        "findings": dict[str, Json](codes.most_common()),
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Count and print."""
    options = parser(__doc__)
    options.add_argument("--folder", type=Path, required=True, help="where the skills lie")
    options.add_argument("--strict", action="store_true", help="only the six specified fields")
    chosen = options.parse_args(arguments)
    if not chosen.folder.is_dir():
        say(f"There is no folder {chosen.folder}.")
        return 2
    found = survey(chosen.folder, strict=chosen.strict)
    findings = found["findings"]
    rows = [
        [code, CODES[code][0].value, f"{count:,}"]
        for code, count in (findings.items() if isinstance(findings, dict) else ())
    ]
    facts = [f"{name}: {value}" for name, value in found.items() if name != "findings"]
    finish(
        "skill_survey", found, as_json=chosen.json,
        lines=[*facts, "", *table(["finding", "severity", "documents"], rows)],
    )  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main())
