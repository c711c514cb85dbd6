"""Words of other languages: `python -m scripts.train_embedder.align TABLE GATHERED OUT`.

TABLE is the folder that `train.py` wrote, GATHERED one with the pairs (`gather.py`, `natural.py`)
and `translations.jsonl` (`translations.py`). A word of another language becomes the weighed sum of
the rows of its English meanings (`dictionary.py`), so a German question comes near an English note.
Rows of words that English texts use often stay as they are; entries of other languages that the
table had before are replaced or left out. Writes table and vocabulary into OUT. Two minutes.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Set
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer

from scripts.train_embedder.dictionary import Meanings, Pair, meanings
from scripts.train_embedder.read_pairs import read_pairs
from scripts.train_embedder.tables import read_table, write_table
from scripts.train_embedder.vocabulary import count_words
from wellkept.models.embedders.bundled_models import MINILM
from wellkept.models.embedders.words import CONTINUED, WordTokenizer

_WORDS = {"de": 3600, "fr": 3000, "es": 3000, "zh": 3000, "ja": 3000}
_WORDS_OF_OTHERS = 700
_SEEN = 3  # so often a word stands in English texts that has an entry
_ENGLISH = 30  # so often one that means the same in every language
_PARTS_OF_COMPOUNDS = 600
_SHORTEST_PART = 5


def main() -> None:
    """Align and write."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("table", type=Path)
    options.add_argument("gathered", type=Path)
    options.add_argument("out", type=Path)
    arguments = options.parse_args()
    entries, rows = read_table(arguments.table)
    english = count_words(_english_texts(arguments.gathered))
    messages = read_messages(arguments.gathered / "translations.jsonl")
    entries, rows = aligned(entries, rows, messages, english)
    write_table(arguments.out, entries, rows)
    print(len(entries), "entries")


def _english_texts(gathered: Path) -> Iterator[str]:
    for kind, pairs in read_pairs(gathered, None).items():
        if kind != "translation":
            for pair in pairs:
                yield from pair


def read_messages(path: Path) -> dict[str, list[Pair]]:
    """Translated messages by language."""
    found: dict[str, list[Pair]] = defaultdict(list)
    with path.open(encoding="utf-8") as stream:
        for line in stream:
            language, english, other = json.loads(line)
            found[language].append((english, other))
    return dict(found)


def aligned(
    entries: list[str],
    rows: np.ndarray,
    messages: Mapping[str, list[Pair]],
    english: Counter[str],
) -> tuple[list[str], np.ndarray]:
    """The table with rows for words of other languages."""
    known = dict(zip(entries, rows, strict=False))
    hashed = rows[len(entries) :]
    spell = WordTokenizer(entries)
    pieces = Tokenizer.from_file(str(MINILM.vocabulary.locate())).get_vocab()
    seen = {word for word, count in english.items() if count >= _SEEN}.union(pieces)
    table = {entry: row for entry, row in known.items() if _stays(entry, seen)}
    done: set[str] = set()
    for language, pairs in messages.items():
        found = meanings(pairs, _WORDS.get(language, _WORDS_OF_OTHERS))
        for word, of in found.items():
            settled = word in done or (word in table and english[word] >= _ENGLISH)
            vector = None if settled else _sum(of, spell, rows)
            if vector is not None:
                table[word] = vector
                done.add(word)
        print(language, len(found), flush=True)
        if language == "de":
            table |= _parts_of_compounds(found, pairs, table)
    return list(table), np.vstack([*table.values(), hashed]).astype(np.float32)


def _stays(entry: str, seen: Set[str]) -> bool:
    """Whether an entry belongs to English, or is a piece or character that spells any word."""
    if entry.startswith(CONTINUED) or len(entry) == 1:
        return True
    return entry.isascii() and (entry.isdecimal() or entry in seen)


def _sum(of: list[tuple[str, float]], spell: WordTokenizer, rows: np.ndarray) -> np.ndarray | None:
    """The meanings together, as long as their rows are long on average."""
    found = [(weight, rows[spell.encode(word)].sum(axis=0)) for word, weight in of]
    total = np.sum([weight * row for weight, row in found], axis=0)
    length = float(np.linalg.norm(total))
    usual = sum(weight * float(np.linalg.norm(row)) for weight, row in found)
    return total * (usual * 0.5 / length + 0.5) if length > 0 else None


def _parts_of_compounds(
    found: Meanings, pairs: list[Pair], table: Mapping[str, np.ndarray]
) -> dict[str, np.ndarray]:
    """Words that also stand at the end of longer ones: German writes compounds as one word."""
    counts: Counter[str] = Counter()
    for word in count_words(right for _, right in pairs):
        for begin in range(3, len(word) - _SHORTEST_PART + 1):
            if word[begin:] in found:
                counts[word[begin:]] += 1
    common = [word for word, count in counts.most_common(_PARTS_OF_COMPOUNDS) if count >= 3]
    return {CONTINUED + word: table[word] for word in common if word in table}


if __name__ == "__main__":
    main()
