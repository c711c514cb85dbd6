"""What the indexes see of a memory: the text that is embedded, and the extra words to find it by.

Both are functions of the record alone, so a rebuilt index equals the one it replaces. Change
`INDEX_VERSION` whenever either function would give another result.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import PurePosixPath

from wellkept.core.clock import date_words
from wellkept.core.memory import Memory
from wellkept.core.text import cjk_pairs, cjk_runs, identifiers, split_identifier
from wellkept.core.types import Source

INDEX_VERSION = 1
EMBEDDED_CHARS = 8_000
_NAMED_FILES = 5


def extra_text(memory: Memory) -> str:
    """Words that are not in the content as whole words but that people search by."""
    parts = (
        memory.author or "",
        date_words(memory.valid_from),
        memory.key.replace("_", " ") if memory.key else "",
        *memory.tags,
        *_place_words(memory),
        *(part for name in identifiers(memory.content) for part in split_identifier(name)),
        *(pair for run in cjk_runs(memory.content) for pair in cjk_pairs(run)),
    )
    return " ".join(dict.fromkeys(part for part in parts if part))


def embedding_text(memory: Memory) -> str:
    """The text whose meaning stands for the memory."""
    return memory.content[:EMBEDDED_CHARS]


def _place_words(memory: Memory) -> list[str]:
    """Words of the few files and modules that a memory is about.

    A commit touches files without being about each of them; it is found through its links.
    """
    if memory.source is Source.COMMIT_AUTO:
        return []
    names = [_file_name(path) for path in memory.files[:_NAMED_FILES]]
    return [part for name in (*names, *memory.modules) for part in (name, *split_identifier(name))]


@lru_cache(maxsize=1024)
def _file_name(path: str) -> str:
    return PurePosixPath(path).name
