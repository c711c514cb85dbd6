"""Sections of a context pack, in the order in which they are told, and lines without a memory.

Every line has a stable id, so that it can be logged and is told once in a session.
"""

from __future__ import annotations

from enum import StrEnum

from wellkept.core.ids import digest
from wellkept.core.records import record


class Section(StrEnum):
    """Parts of a pack; the order is the order of the text."""

    HANDED_OVER = "handed_over"
    LEFT_OFF = "left_off"
    RULES = "rules"
    GIT = "git"
    COMMANDS = "commands"
    EARLIER = "earlier"
    PLAN = "plan"
    KNOWN = "known"


SECTIONS = tuple(Section)
TITLES = {
    Section.HANDED_OVER: "Handed over",
    Section.LEFT_OFF: "Last work",
    Section.RULES: "Rules people gave",
    Section.GIT: "Git now",
    Section.COMMANDS: "Commands, as the project's files declare them",
    Section.EARLIER: "Earlier work",
    Section.PLAN: "Code named here",
    Section.KNOWN: "Also known",
}
SHARES = {
    Section.HANDED_OVER: 0.4,
    Section.LEFT_OFF: 0.65,
    Section.RULES: 0.35,
    Section.GIT: 0.3,
    Section.COMMANDS: 0.6,
    Section.EARLIER: 0.4,
    Section.PLAN: 0.6,
    Section.KNOWN: 0.3,
}
"""Share of the budget that a section may take before the others had theirs."""


@record(kw_only=True)
class SectionLine:
    """A line that no memory stands behind, such as what git says now; `id` names its text."""

    id: str
    section: Section
    text: str
    reason: str = ""

    @classmethod
    def of(
        cls, section: Section, text: str, *, reason: str = "", name: str | None = None
    ) -> SectionLine:
        """The line with an id made from its text, or from a name when parts of the text vary: it
        is then the same line in every section."""
        about = f"{section.value}\0{text}" if name is None else name
        return cls(id=f"line:{digest(about)}", section=section, text=text, reason=reason)

    @property
    def line(self) -> str:
        """The line as injected."""
        return f"- {self.text}"


@record
class SectionLines:
    """What a source has to say in one section; `title` replaces the usual one."""

    section: Section
    lines: tuple[SectionLine, ...]
    title: str | None = None


@record
class PackedSection:
    """One section of a finished pack: its title, lines as injected, and the ids of the lines."""

    name: Section
    title: str
    lines: tuple[str, ...]
    ids: tuple[str, ...]
