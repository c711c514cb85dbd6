"""How often the right skill is chosen for a prompt, and how long choosing takes.

`python -m bench.skills [--json] [--data PATH] [--split dev|test] [--ablate]`. Ways compared: the
formula of the source documents, plain BM25 (FTS5 over the whole text), the default embedder alone,
and the shipped profile with and without parts. accuracy@1 and @3 are about the order alone;
`false` is the share of prompts without a fitting skill for which the shipped thresholds let one
through, and `right@1` the share of all prompts answered right: the right skill first, or rightly
none. Times are processor time a selection, against scoring the same skills by the formula.
The format of PATH is told in bench/data/skills/README.md; nothing is tuned here.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path

from bench.baselines import Baselines
from bench.report import Target, finish, machine, parser, ratio, say, table, timed_each
from bench.skills_data import SHIPPED, Prompt, SkillSet, load
from wellkept.core.codec import Json
from wellkept.core.ports.models import Embedder
from wellkept.core.records import replace
from wellkept.core.skills import Skill
from wellkept.skills.selection import lexical
from wellkept.skills.selection.detection import DetectedSkill, detect_skills
from wellkept.skills.selection.scoring import SkillSearch
from wellkept.skills.selection.select import SelectionPolicy, select_skills

_MANY = 500
_ROUNDS = 300

Ranked = Sequence[tuple[str, float]]
Way = Callable[[Prompt], Ranked]


@dataclass(frozen=True, slots=True)
class Figures:
    """What one way of choosing got right, in percent."""

    at_1: float
    at_3: float
    false: float | None
    right_at_1: float | None

    def as_json(self) -> dict[str, Json]:
        """The figures by name."""
        return {
            "accuracy_at_1": self.at_1,
            "accuracy_at_3": self.at_3,
            "false_selections": self.false,
            "right_at_1": self.right_at_1,
        }

    def cells(self) -> list[str]:
        """The figures as text."""
        values = (self.at_1, self.at_3, self.false, self.right_at_1)
        return ["-" if value is None else f"{value:.1f}" for value in values]


def measure(way: Way, prompts: Sequence[Prompt], *, least: float | None = None) -> Figures:
    """How a way does on prompts; `least` is the score from which on it would inject."""
    wanted = [p for p in prompts if p.expected]
    ranked = {p: way(p) for p in prompts}

    def share(depth: int) -> float:
        right = sum(_is_right(ranked[p][:depth], p) for p in wanted)
        return round(100 * right / max(1, len(wanted)), 1)

    if least is None:
        return Figures(share(1), share(3), None, None)
    kept = {p: [(n, s) for n, s in ranked[p] if s >= least] for p in prompts}
    unwanted = [p for p in prompts if not p.expected]
    false = sum(bool(kept[p]) for p in unwanted)
    right = sum(_is_right(kept[p][:1], p) for p in wanted) + len(unwanted) - false
    return Figures(
        share(1),
        share(3),
        round(100 * false / max(1, len(unwanted)), 1),
        round(100 * right / max(1, len(prompts)), 1),
    )


def _is_right(ranked: Ranked, prompt: Prompt) -> bool:
    return any(name in prompt.expected for name, _ in ranked)


class Ways:
    """The ways to choose, over one set."""

    def __init__(self, data: SkillSet, embedder: Embedder) -> None:
        self._data = data
        self._embedder = embedder
        self._detected = {
            name: detect_skills(data.skills, files) for name, files in data.projects.items()
        }
        texts = {
            s.name: f"{s.name.replace('-', ' ')}\n{s.description}\n{' '.join(s.tags)}\n{s.body}"
            for s in data.skills
        }
        self._plain = Baselines(texts, embedder)

    def bm25(self, prompt: Prompt) -> Ranked:
        """Plain BM25 over the whole text of a skill."""
        return [(name, 1.0) for name in self._plain.bm25(prompt.text)]

    def embedder(self, prompt: Prompt) -> Ranked:
        """The embedder alone over the whole text of a skill."""
        return [(name, 1.0) for name in self._plain.embedder(prompt.text)]

    def profile(self, name: str, *, meaning: bool = True, detect: bool = True) -> Way:
        """A shipped profile, with or without some of its arms."""
        return self.over(self._data.skills, name, meaning=meaning, detect=detect)

    def over(
        self, skills: Sequence[Skill], name: str, *, meaning: bool = True, detect: bool = True
    ) -> Way:
        """A shipped profile over skills that may lack some fields."""
        search = SkillSearch(skills, embedder=self._embedder if meaning else None)
        policy = SelectionPolicy(limit=len(skills), min_score=0.0, profile=name, for_people=True)

        def way(prompt: Prompt) -> Ranked:
            detected = self.detected(prompt) if detect else None
            found = select_skills(search, prompt.text, policy=policy, detected=detected)
            return [(choice.skill.name, choice.score) for choice in found.choices]

        return way

    def detected(self, prompt: Prompt) -> Sequence[DetectedSkill] | None:
        """What the project of a prompt calls for."""
        return None if prompt.project is None else self._detected[prompt.project]


def compare(
    data: SkillSet, prompts: Sequence[Prompt], *, embedder: Embedder, ablate: bool
) -> dict[str, Figures]:
    """Every way on the same prompts."""
    from wellkept.skills.selection.scoring import PROFILES

    ways = Ways(data, embedder)
    usual, written = PROFILES["default"], PROFILES["document"]
    found = {
        "document": measure(ways.profile("document"), prompts, least=written.min_score),
        "bm25": measure(ways.bm25, prompts),
        "embedder": measure(ways.embedder, prompts),
        "default": measure(ways.profile("default"), prompts, least=usual.min_score),
        "default, no embedder": measure(
            ways.profile("default", meaning=False), prompts, least=usual.min_score_words
        ),
    }
    if ablate:
        bare = [replace(skill, globs=()) for skill in data.skills]
        found["default, no detection"] = measure(ways.profile("default", detect=False), prompts)
        found["default, no files"] = measure(ways.over(bare, "default"), prompts)
        with _set_to(lexical, "SYNONYM_WEIGHT", 0.0):
            found["default, no other words"] = measure(ways.profile("default"), prompts)
        with _set_to(lexical, "COMMON_WORD_WEIGHT", 1.0):
            found["default, everyday words in full"] = measure(ways.profile("default"), prompts)
        found["words alone"] = measure(
            ways.over(bare, "default", meaning=False, detect=False), prompts
        )
    return found


@contextmanager
def _set_to(module: object, name: str, value: float) -> Generator[None, None, None]:
    """A constant with another value for a while."""
    before = getattr(module, name)
    setattr(module, name, value)
    try:
        yield
    finally:
        setattr(module, name, before)


def by_kind(data: SkillSet, prompts: Sequence[Prompt], *, embedder: Embedder) -> dict[str, Json]:
    """accuracy@1 of the shipped profile for each kind of prompt."""
    way = Ways(data, embedder).profile("default")
    kinds = sorted({p.kind for p in prompts if p.expected})
    return {kind: measure(way, [p for p in prompts if p.kind == kind]).at_1 for kind in kinds}


def times(data: SkillSet, *, embedder: Embedder) -> dict[str, Json]:
    """Processor time a selection over 500 skills, against the formula of the documents."""
    many = _many(data.skills)
    prompts = list(islice(cycle(p.text for p in data.prompts), _ROUNDS))
    search = SkillSearch(many, embedder=embedder)

    def select(profile: str) -> Callable[[str], object]:
        policy = SelectionPolicy(profile=profile)
        return lambda text: select_skills(search, text, policy=policy, detected=())

    ours = timed_each(select("default"), prompts, warm_up=5)
    reference = timed_each(select("document"), prompts[:30], warm_up=2)
    ours_cpu, reference_cpu = ours.cpu_p50_ms or 0.0, reference.cpu_p50_ms or 0.0
    return {
        "skills": len(many),
        "select": ours.as_json(),
        "reference": "the documents' formula over the same skills",
        "reference_cpu_p50_ms": round(reference_cpu, 3),
        "ratio_to_reference": ratio(ours_cpu, reference_cpu),
        "target": Target("select_cpu_p50_ms", 10.0, ours_cpu).as_json(),
    }


def _many(skills: Sequence[Skill]) -> list[Skill]:
    """As many skills as the target asks for: the same ones under other names."""
    copies = (
        replace(skill, name=f"{skill.name}-{number}", body=f"{skill.body}\nVariant {number}.")
        for number, skill in enumerate(islice(cycle(skills), _MANY))
    )
    return list(copies)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; fails when the shipped set breaks its own split rule."""
    options = parser(__doc__)
    options.add_argument("--data", type=Path, default=SHIPPED, help="another labelled set")
    options.add_argument("--split", choices=("dev", "test", "all"), default="test")
    options.add_argument("--ablate", action="store_true", help="also without each part")
    chosen = options.parse_args(arguments)
    try:
        data = load(chosen.data)
    except (OSError, ValueError, KeyError) as error:
        say(f"{chosen.data}: {error}")
        return 2
    prompts = [p for p in data.prompts if chosen.split in ("all", p.split)]
    return _report(data, prompts, split=chosen.split, ablate=chosen.ablate, as_json=chosen.json)


def _report(
    data: SkillSet, prompts: Sequence[Prompt], *, split: str, ablate: bool, as_json: bool
) -> int:
    from wellkept.models.embedders.static import StaticEmbedder

    embedder = StaticEmbedder()
    found = compare(data, prompts, embedder=embedder, ablate=ablate)
    header = ["%", "accuracy@1", "accuracy@3", "false", "right@1"]
    figures: dict[str, Json] = {
        "machine": machine(),
        "split": split,
        "skills": len(data.skills),
        "prompts": len(prompts),
        "without_a_skill": sum(not p.expected for p in prompts),
        "ways": _as_json(found),
        "default_at_1_by_kind": by_kind(data, prompts, embedder=embedder),
        "time": times(data, embedder=embedder),
    }
    lines = table(header, [[name, *way.cells()] for name, way in found.items()])
    finish("skills", figures, as_json=as_json, lines=lines)
    return 0


def _as_json(found: Mapping[str, Figures]) -> dict[str, Json]:
    return {name: way.as_json() for name, way in found.items()}


if __name__ == "__main__":
    sys.exit(main())
