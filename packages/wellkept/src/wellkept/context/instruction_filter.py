"""Keeps instructions in text that no person taught out of packs.

What a person taught may be imperative. Everything else is cut to its fact; what then says nothing
is left out.
"""

from __future__ import annotations

from collections.abc import Sequence

from wellkept.context.candidates import ContextCandidate
from wellkept.context.sections import SectionLines
from wellkept.core.memory import Memory
from wellkept.core.records import replace
from wellkept.text.instructions import fact_of

_MAX_CHARS = 4_000


def is_taught(memory: Memory) -> bool:
    """Whether a person said it, or vouches for it."""
    return memory.has_persons_word


def harmless_candidates(candidates: Sequence[ContextCandidate]) -> list[ContextCandidate]:
    """The candidates, each cut to its fact."""
    kept: list[ContextCandidate] = []
    for one in candidates:
        text = one.text or one.memory.content
        fact = text if is_taught(one.memory) and one.text is None else fact_of(text[:_MAX_CHARS])
        if fact is not None:
            kept.append(one if fact == text else replace(one, text=fact))
    return kept


def harmless_sections(sections: Sequence[SectionLines]) -> list[SectionLines]:
    """The sections with each line cut to its fact."""
    found: list[SectionLines] = []
    for section in sections:
        lines = [
            line if fact == line.text else replace(line, text=fact)
            for line in section.lines
            if (fact := fact_of(line.text)) is not None
        ]
        title = section.title if section.title is None else fact_of(section.title)
        if lines:
            found.append(replace(section, lines=tuple(lines), title=title))
    return found
