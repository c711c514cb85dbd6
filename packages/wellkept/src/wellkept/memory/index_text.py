"""Index texts of a memory: the text to embed, and extra search terms.

Both depend on the record alone, so a rebuilt index equals the one it replaces. Increase
`INDEX_VERSION` whenever either function changes its result.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import PurePosixPath

from wellkept.core.clock import date_words
from wellkept.core.memory import Memory
from wellkept.core.payloads import Decision
from wellkept.core.text import cjk_pairs, cjk_runs, identifiers, split_identifier
from wellkept.core.types import Source

INDEX_VERSION = 2
EMBEDDED_CHARS = 8_000
_NAMED_FILES = 5


def extra_text(memory: Memory) -> str:
    """Search terms that are not whole words of the content."""
    parts = (
        memory.author or "",
        date_words(memory.valid_from),
        memory.key.replace("_", " ") if memory.key else "",
        *memory.tags,
        *_path_terms(memory),
        *(part for name in identifiers(memory.content) for part in split_identifier(name)),
        memory.payload.subject if isinstance(memory.payload, Decision) else "",
        *(pair for run in cjk_runs(memory.content) for pair in cjk_pairs(run)),
    )
    return " ".join(dict.fromkeys(part for part in parts if part))


def embedding_text(memory: Memory) -> str:
    """The text to embed."""
    return memory.content[:EMBEDDED_CHARS]


def _path_terms(memory: Memory) -> list[str]:
    """Terms of the first files and of the modules of a memory.

    None for commit records: they touch files without being about each, and are found by links.
    """
    if memory.source is Source.COMMIT_AUTO:
        return []
    names = [_file_name(path) for path in memory.files[:_NAMED_FILES]]
    return [part for name in (*names, *memory.modules) for part in (name, *split_identifier(name))]


@lru_cache(maxsize=1024)
def _file_name(path: str) -> str:
    return PurePosixPath(path).name
