"""The notes of made-up projects and the questions about them, as drafts and labelled questions.

`bench/data/notes/development.txt` is for tuning, `heldout.txt` for the figures. The split is by
project and was made before anything was tuned. The format is described in the first file.
`elsewhere.txt` holds questions about anything but software, in two parts likewise, and
`note_questions.jsonl` a second, smaller set of notes with a direct question and one in other words
each, half of them for tuning. `harbour.json` has notes and every kind of question and prompt,
written by somebody who knew nothing of the ranking; `distractors.txt` notes to lose them among.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from random import Random

from bench.corpus import Corpus
from wellkept.core.memory import MemoryDraft

FOLDER = Path(__file__).parent / "data" / "notes"
DEVELOPMENT, HELD_OUT = FOLDER / "development.txt", FOLDER / "heldout.txt"
ELSEWHERE_PARTS = {DEVELOPMENT: "development", HELD_OUT: "held out"}
KINDS = {"d": "direct", "p": "paraphrase", "x": "other language", "i": "identifier"}
UNANSWERABLE, ELSEWHERE = "unanswerable", "elsewhere"
WORK, EVERYDAY, NONSENSE = "work", "everyday", "nonsense"
HARBOUR_KINDS = {
    "direct": "direct",
    "other_words": "paraphrase",
    "other_language": "other language",
    "work_prompts": WORK,
    "unanswerable": UNANSWERABLE,
    "off_topic": EVERYDAY,
    "nonsense": NONSENSE,
}


@dataclass(frozen=True, slots=True)
class NoteQuestion:
    """A question; `note` is the text that answers it, None when nothing does."""

    kind: str
    text: str
    note: str | None
    project: str


@dataclass(frozen=True, slots=True)
class NoteSet:
    """Notes by project, and questions."""

    notes: tuple[tuple[str, str], ...]
    questions: tuple[NoteQuestion, ...]

    def drafts(self) -> list[MemoryDraft]:
        """The notes as something to remember: no session, no author."""
        return [MemoryDraft(content=text) for _, text in self.notes]

    def of_kind(self, kind: str) -> list[NoteQuestion]:
        """The questions of one kind."""
        return [each for each in self.questions if each.kind == kind]


def load_notes(path: Path) -> NoteSet:
    """Read one file of notes."""
    notes: list[tuple[str, str]] = []
    questions: list[NoteQuestion] = []
    project, note = "", ""
    for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1):
        mark, text = line[:1], line[2:].strip()
        match mark:
            case "" | "#":
                continue
            case "=":
                project = text
            case "n":
                note = text
                notes.append((project, note))
            case "u":
                questions.append(NoteQuestion(UNANSWERABLE, text, None, project))
            case _ if mark in KINDS:
                questions.append(NoteQuestion(KINDS[mark], text, note, project))
            case _:
                raise ValueError(f"{path.name}, line {number}: unknown mark {mark!r}")
    return NoteSet(tuple(notes), tuple(questions))


def load_pairs_of_questions(split: str) -> NoteSet:
    """The notes of `note_questions.jsonl`, with the `development` or the `held_out` questions."""
    path = FOLDER.parent / "note_questions.jsonl"
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    return NoteSet(
        tuple(("", row["note"]) for row in rows),
        tuple(
            NoteQuestion(kind, row[kind], row["note"], "")
            for row in rows
            if row["split"] == split
            for kind in ("direct", "paraphrase")
        ),
    )


def load_elsewhere(part: str) -> list[str]:
    """Questions that no project's notes answer: the `development` or the `held out` ones."""
    found: dict[str, list[str]] = {}
    asked: list[str] = []
    for line in (FOLDER / "elsewhere.txt").read_text("utf-8").splitlines():
        if line.startswith("="):
            asked = found.setdefault(line[1:].strip(), [])
        elif line and not line.startswith("#"):
            asked.append(line)
    return found[part]


def load_harbour(path: Path = FOLDER / "harbour.json") -> NoteSet:
    """Notes of one project with questions and prompts of every kind; `--cases` may name others."""
    held = json.loads(path.read_text("utf-8"))
    texts = {note["id"]: note["text"] for note in held["notes"]}
    asked: list[NoteQuestion] = []
    for name, kind in HARBOUR_KINDS.items():
        for one in held[name]:
            text, note = (one, None) if isinstance(one, str) else (one["q"], texts[one["id"]])
            asked.append(NoteQuestion(kind, text, note, path.stem))
    return NoteSet(tuple((path.stem, text) for text in texts.values()), tuple(asked))


def load_distractors(count: int) -> list[str]:
    """Notes to lose the others among: sentences about another program, then made-up ones."""
    lines = _lines("distractors.txt")
    more = count - len(lines)
    if more <= 0:
        return Random(count).sample(lines, count)
    made_up = (one.content for batch in Corpus().batches(more) for one in batch.memories)
    return [*lines, *islice(made_up, more)]


def prompt_sets(part: str) -> list[NoteSet]:
    """Three sets of notes of the `development` part or two `held_out` ones, each with what is typed
    at prompts: questions, work that one of them is about, and prompts that none is about. Those
    that belong to no project have none: nothing tells which part of the learning they go with."""
    path = DEVELOPMENT if part == "development" else HELD_OUT
    notes = load_notes(path)
    pairs = load_pairs_of_questions(part)
    part = part.replace("_", " ")
    everyday = _lines("everyday.txt" if path == DEVELOPMENT else "prompts.txt")
    silent = (
        *(NoteQuestion(EVERYDAY, text, None, "") for text in everyday),
        *(NoteQuestion(ELSEWHERE, text, None, "") for text in load_elsewhere(part)),
    )
    found = [
        NoteSet(notes.notes, (*notes.questions, *_work(notes, part), *silent)),
        NoteSet(pairs.notes, (*pairs.questions, *silent)),
    ]
    return [*found, load_harbour()] if path == DEVELOPMENT else found


def _work(notes: NoteSet, part: str) -> Iterator[NoteQuestion]:
    inside = False
    for line in _lines("work.txt"):
        if line.startswith("="):
            inside = line[1:].strip() == part
        elif inside:
            opening, _, prompt = line.partition("\t")
            ((project, note),) = [one for one in notes.notes if one[1].startswith(opening)]
            yield NoteQuestion(WORK, prompt, note, project)


def load_prompts() -> list[str]:
    """Prompts of everyday work and of work on many projects, to count their words."""
    of_skills = (FOLDER.parent / "skills" / "prompts.jsonl").read_text("utf-8").splitlines()
    off_topic = [one.text for one in load_harbour().of_kind(EVERYDAY)]
    return [
        *_lines("everyday.txt"),
        *off_topic,
        *(json.loads(line)["prompt"] for line in of_skills),
    ]


def _lines(name: str) -> list[str]:
    lines = (FOLDER / name).read_text("utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]
