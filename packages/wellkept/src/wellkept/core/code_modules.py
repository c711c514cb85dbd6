"""Modules of a source tree: the module of a file, module summaries, code conventions.

A module is a folder of source files, named as the graph names folders ("src/app/", "./").
Summaries and conventions name the files they were derived from. Knows nothing of storage.
"""

from __future__ import annotations

from typing import Final

from wellkept.core.records import record

MODULE_DEPTH: Final = 3


def module_of(path: str) -> str:
    """The module a file is counted in: its folder, at most three levels deep; "." at the top."""
    folders = path.replace("\\", "/").split("/")[:-1]
    return "/".join(folders[:MODULE_DEPTH]) or "."


@record
class ModuleLink:
    """Another module, and the number of edges to or from it."""

    folder: str
    edges: int


@record(kw_only=True)
class CodeModule:
    """One module. `purpose` is quoted from its documentation."""

    folder: str
    name: str
    languages: tuple[str, ...]
    files: tuple[str, ...]
    lines: int
    is_test: bool
    depends_on: tuple[ModuleLink, ...] = ()
    used_by: tuple[ModuleLink, ...] = ()
    gives: tuple[str, ...] = ()
    """Symbols used by other modules, most used first."""
    entry_points: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    """Test files outside the module that use it directly."""
    purpose: str = ""
    read_from: tuple[str, ...] = ()
    """The files `purpose` was quoted from."""

    @property
    def summary(self) -> str:
        """One paragraph: purpose, exports, dependencies."""
        sentences = [self.purpose.rstrip()] if self.purpose else []
        if sentences and sentences[0][-1:] not in (".", "!", "?"):
            sentences[0] += "."
        parts = (
            ("Gives", self.gives),
            ("Starts at", self.entry_points[:3]),
            ("Depends on", tuple(link.folder for link in self.depends_on[:5])),
            ("Used by", tuple(link.folder for link in self.used_by[:5])),
        )
        sentences += [f"{title} {', '.join(names)}." for title, names in parts if names]
        plural = "s" * (len(self.files) != 1)
        holds = f"Holds {len(self.files)} file{plural} of {', '.join(self.languages)}."
        return " ".join(sentences) or holds


@record(kw_only=True)
class Convention:
    """A coding convention of a tree. `key` names its subject; there is one per key."""

    key: str
    text: str
    evidence: tuple[str, ...]
    """Paths of files that follow it."""


@record(kw_only=True)
class ModuleNote:
    """One statement about the code. `outcome` is new, changed, unchanged, closed or left. "left":
    a user owns the memory."""

    key: str
    text: str
    made_by: str
    outcome: str
    memory_id: str | None = None


@record(kw_only=True)
class ModuleSummaryReport:
    """Result of `ModuleNotes.save`. `model_problem` says why the model was not used."""

    modules: int
    notes: tuple[ModuleNote, ...]
    model_problem: str | None = None
    dry_run: bool = False

    def count(self, outcome: str) -> int:
        """Number of statements with an outcome."""
        return sum(note.outcome == outcome for note in self.notes)

    def as_text(self) -> str:
        """What was stored, and of how many modules."""
        changed = [one for one in self.notes if one.outcome != "unchanged"]
        verb = "Would store" if self.dry_run else "Stored"
        lines = [f"{one.outcome:<8} {one.key}: {one.text}" for one in changed]
        lines.append(
            f"{verb} summaries of {self.modules} modules: {self.count('new')} new,"
            f" {self.count('changed')} changed, {self.count('unchanged')} unchanged,"
            f" {self.count('closed')} closed, {self.count('left')} kept as edited."
        )
        if self.model_problem:
            lines.append(f"Some summaries were made without a model: {self.model_problem}")
        return "\n".join(lines)
