"""What the indexes see of a memory: the text that is embedded, and the extra words to find it by.

Both are functions of the record alone, so a rebuilt index equals the one it replaces. Change
`INDEX_VERSION` whenever either function would give another result.
"""

from __future__ import annotations

from holdfast.core.clock import date_words
from holdfast.core.memory import Memory
from holdfast.core.text import cjk_pairs, cjk_runs, identifiers, split_identifier

INDEX_VERSION = 1
EMBEDDED_CHARS = 8_000


def extra_text(memory: Memory) -> str:
    """Words that are not in the content as whole words but that people search by."""
    parts = (
        memory.author or "",
        date_words(memory.valid_from),
        memory.key.replace("_", " ") if memory.key else "",
        *memory.tags,
        *(part for path in (*memory.files, *memory.modules) for part in _path_words(path)),
        *(part for name in identifiers(memory.content) for part in split_identifier(name)),
        *(pair for run in cjk_runs(memory.content) for pair in cjk_pairs(run)),
    )
    return " ".join(dict.fromkeys(part for part in parts if part))


def embedding_text(memory: Memory) -> str:
    """The text whose meaning stands for the memory."""
    return memory.content[:EMBEDDED_CHARS]


def _path_words(path: str) -> list[str]:
    return [path, *split_identifier(path)]
