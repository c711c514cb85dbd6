"""What people type for what skills are called: short forms, symptoms, words of other languages.

The words are data beside this module, read on first use. Knows nothing of skills.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import cast

from wellkept.core.text import cjk_runs, fold, stem, words

_ANYWHERE = ("chinese", "japanese")


def synonyms_in(text: str) -> Iterator[str]:
    """What the words of a text also mean, in English; each as one or several words."""
    whole, anywhere = _meanings()
    typed = set(words(text))
    yield from (meant for word, meant in whole.items() if word in typed)
    for run in cjk_runs(fold(text)):
        yield from (meant for word, meant in anywhere.items() if word in run)


@lru_cache(maxsize=1)
def common_stems() -> frozenset[str]:
    """The stems of words that tell nothing about the subject of a prompt."""
    return frozenset(stem(word) for word in cast("str", _read("everyday")["words"]).split())


@lru_cache(maxsize=1)
def _meanings() -> tuple[Mapping[str, str], Mapping[str, str]]:
    """Entries looked for as whole words, and those looked for anywhere."""
    tables = cast("dict[str, dict[str, str]]", _read("vocabulary"))
    whole = {
        fold(w): m for name, t in tables.items() if name not in _ANYWHERE for w, m in t.items()
    }
    return whole, {fold(w): m for name in _ANYWHERE for w, m in tables[name].items()}


def _read(name: str) -> dict[str, object]:
    import tomllib

    with (Path(__file__).parent / "data" / f"{name}.toml").open("rb") as file:
        return tomllib.load(file)
