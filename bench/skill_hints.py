"""How often a skill is named unasked at a prompt, and how often that is right.

    python -m bench.skill_hints [--data FILE] [--json]

The prompts are written in the manner of real sessions: three of four are requests that no skill
fits, as most real ones are. They are asked against two libraries: the skills that come with
Wellkept alone, and those beside the 90 of `bench/data/skills`, as if a project had them; the
labelled prompts of that set are asked as well. With `--data`, a file of lines
`{"prompt": ..., "fits": name or null}` in place of the shipped ones: real prompts of your own.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.report import Target, finish, machine, parser, table
from bench.skills_data import SHIPPED, load
from wellkept import open as open_memory
from wellkept.core.codec import Json
from wellkept.core.skills import Skill
from wellkept.skills.selection.scoring import SkillSearch
from wellkept.skills.selection.select import hint_for, select_skills

PROMPTS = Path(__file__).parent / "data" / "skill_hints.jsonl"
MIN_PRECISION = 0.9


@dataclass(frozen=True, slots=True)
class Asked:
    """A prompt and the skills that fit it; usually none."""

    text: str
    fits: frozenset[str]


@dataclass(slots=True)
class Hints:
    """What was named over all prompts."""

    prompts: int = 0
    fitting: int = 0
    named: int = 0
    right: int = 0

    @property
    def precision(self) -> float | None:
        """The share of named skills that fit; None when nothing was named."""
        return self.right / self.named if self.named else None

    def as_json(self) -> dict[str, Json]:
        """The counts and the share."""
        share = None if self.precision is None else round(self.precision, 3)
        counts = {"prompts": self.prompts, "fitting": self.fitting, "named": self.named}
        return {**counts, "right": self.right, "precision": share}


def read(path: Path) -> list[Asked]:
    """The labelled prompts of a file."""
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]
    return [Asked(row["prompt"], frozenset([row["fits"]] if row["fits"] else [])) for row in rows]


def hinted(search: SkillSearch, prompts: Iterable[Asked]) -> Hints:
    """What hints name."""
    found = Hints()
    for asked in prompts:
        choice = hint_for(search, asked.text)
        _count(found, asked, [] if choice is None else [choice.skill.name])
    return found


def selected(search: SkillSearch, prompts: Iterable[Asked]) -> Hints:
    """What the selection for agents that asked would name, for comparison."""
    found = Hints()
    for asked in prompts:
        _count(found, asked, [one.skill.name for one in select_skills(search, asked.text)])
    return found


def _count(found: Hints, asked: Asked, names: Sequence[str]) -> None:
    found.prompts += 1
    found.fitting += bool(asked.fits)
    found.named += len(names)
    found.right += len(asked.fits & set(names))


def builtin_skills() -> tuple[Skill, ...]:
    """The skills that come with Wellkept."""
    with TemporaryDirectory() as folder:
        path, home = Path(folder) / "memory.db", {"WELLKEPT_HOME": folder, "HOME": folder}
        with open_memory(path, cwd=folder, embedder="none", environment=home) as wk:
            return tuple(skill for skill in wk.skills.list() if skill.source.kind == "builtin")


def main() -> int:
    """Run it all."""
    options = parser(__doc__)
    options.add_argument("--data", type=Path, default=PROMPTS)
    given = options.parse_args()
    library = load(SHIPPED)
    builtin = builtin_skills()
    everyday = read(given.data)
    labelled = [Asked(one.text, one.expected) for one in library.prompts]
    with TemporaryDirectory() as folder, open_memory(Path(folder) / "memory.db") as wk:
        embedder = wk.engine.embedder()
        alone = SkillSearch(builtin, embedder=embedder)
        both = SkillSearch((*builtin, *library.skills), embedder=embedder)
        by_words = SkillSearch((*builtin, *library.skills))
        results = {
            "built-in skills, hints": hinted(alone, everyday),
            "built-in skills, as selected": selected(alone, everyday),
            "90 more, hints": hinted(both, everyday),
            "90 more, hints by words": hinted(by_words, everyday),
            "90 more, as selected": selected(both, everyday),
            "90 more, labelled set, hints": hinted(both, labelled),
            "90 more, labelled set, by words": hinted(by_words, labelled),
        }
    worst = [one.precision for name, one in results.items() if "hints" in name and one.named]
    target = Target(
        "precision of hints", MIN_PRECISION, min(p for p in worst if p is not None), at_least=True
    )
    figures: dict[str, Json] = {
        **{name: one.as_json() for name, one in results.items()},
        "targets": [target.as_json()],
        "machine": machine(),
    }
    rows = [
        (
            name,
            str(one.prompts),
            str(one.fitting),
            str(one.named),
            str(one.right),
            "" if one.precision is None else f"{one.precision:.2f}",
        )
        for name, one in results.items()
    ]
    head = ("way", "prompts", "with a fit", "named", "right", "precision")
    finish("skill_hints", figures, as_json=given.json, lines=table(head, rows))
    return 0 if target.met else 1


if __name__ == "__main__":
    raise SystemExit(main())
