"""The notes of made-up projects and the questions about them, as drafts and labelled questions.

`bench/data/notes/development.txt` is for tuning, `heldout.txt` for the figures. The split is by
project and was made before anything was tuned. The format is described in the first file.
`elsewhere.txt` holds questions about anything but software, in two parts likewise, and
`note_questions.jsonl` a second, smaller set of notes with a direct question and one in other words
each, half of them for tuning.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from wellkept.core.memory import MemoryDraft

FOLDER = Path(__file__).parent / "data" / "notes"
DEVELOPMENT, HELD_OUT = FOLDER / "development.txt", FOLDER / "heldout.txt"
ELSEWHERE_PARTS = {DEVELOPMENT: "development", HELD_OUT: "held out"}
KINDS = {"d": "direct", "p": "paraphrase", "x": "other language", "i": "identifier"}
UNANSWERABLE, ELSEWHERE = "unanswerable", "elsewhere"


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
