"""Gather training pairs: `python -m scripts.train_embedder.gather WHEELS REPOSITORIES OUT`.

WHEELS is a folder of wheels (`pip download --no-deps --only-binary :all: NAME==VERSION`),
REPOSITORIES one of bare clones named `owner+name/repo`. `--refuse` names a file with functions of
a measured set; they and their docstrings stay out. Writes `pairs.jsonl` and `sources.json`; the
sources of the shipped table, with their versions and licences, are in `sources.json` beside this.
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from scripts.train_embedder.pairs import (
    Pair,
    Refused,
    comment_pairs,
    commit_pairs,
    document_pairs,
    json_translations,
    po_pairs,
    python_pairs,
)
from scripts.train_embedder.sources import (
    Source,
    repository_files,
    repository_source,
    wheel_files,
    wheel_source,
)

_OF_ONE_SOURCE = 2500
_OF_ONE_KIND = {"code": 150_000, "function": 80_000, "name": 60_000, "translation": 90_000}
_OF_OTHER_KINDS = 60_000
_COMMITS = 1200
_FILES_OF_ONE_WHEEL = 170
_FILES_OF_ONE_REPOSITORY = 4000
_CODE = (".go", ".rs", ".ts", ".tsx", ".js", ".java", ".kt", ".rb", ".php", ".cs")
_PROSE = (".md", ".rst", ".adoc", ".txt")
_LOCALES = frozenset("de fr es it pt-BR nl pl ru uk cs tr ja ko zh-Hans sv".split())


def main() -> None:
    """Read every source, then cut each kind to its share."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("wheels", type=Path)
    options.add_argument("repositories", type=Path)
    options.add_argument("out", type=Path)
    options.add_argument("--refuse", type=Path, required=True)
    options.add_argument("--names", required=True, help="repositories to read, separated by commas")
    arguments = options.parse_args()
    refused = Refused(list(json.loads(arguments.refuse.read_text(encoding="utf-8"))))
    choose = random.Random(12)
    kept: dict[str, list[Pair]] = defaultdict(list)
    used: list[Source] = []

    def take(source: Source, find: Callable[[], Iterator[tuple[str, Pair]]]) -> None:
        of_kind: dict[str, list[Pair]] = defaultdict(list)
        for kind, pair in _found_once(arguments.out / "of_source", source, find):
            of_kind[kind].append(pair)
        for kind, pairs in of_kind.items():
            distinct = list(dict.fromkeys(pairs))
            limit = _OF_ONE_SOURCE * (12 if kind == "translation" else 2 if kind == "commit" else 1)
            kept[kind] += choose.sample(distinct, min(limit, len(distinct)))
        used.append(source)
        print(source.name, {k: len(v) for k, v in of_kind.items()}, flush=True)

    for path in sorted(arguments.wheels.glob("*.whl")):
        if source := wheel_source(path):
            take(source, partial(_of_wheel, path, refused))
        else:
            print("refused", path.name, flush=True)
    for name in arguments.names.split(","):
        folder = arguments.repositories / name.replace("/", "+") / "repo"
        if source := repository_source(folder):
            take(source, partial(_of_repository, folder, refused))
    _write(arguments.out, kept, used, choose)


def _found_once(
    folder: Path, source: Source, find: Callable[[], Iterator[tuple[str, Pair]]]
) -> Iterator[tuple[str, Pair]]:
    """The pairs of a source, kept in a file so that an interrupted run goes on where it was."""
    kept = folder / f"{source.name.replace('/', '+')}-{source.version[:12]}.jsonl"
    if not kept.exists():
        folder.mkdir(parents=True, exist_ok=True)
        lines = [json.dumps([kind, *pair], ensure_ascii=False) + "\n" for kind, pair in find()]
        partly = kept.with_suffix(".part")
        partly.write_text("".join(lines), encoding="utf-8", errors="replace")
        partly.rename(kept)
    with kept.open(encoding="utf-8") as stream:
        for line in stream:
            kind, left, right = json.loads(line)
            yield kind, (left, right)


def _of_wheel(path: Path, refused: Refused) -> Iterator[tuple[str, Pair]]:
    for file in wheel_files(path, (".py",), _FILES_OF_ONE_WHEEL):
        yield from python_pairs(file.content.decode("utf-8", "replace"), refused)
    for file in wheel_files(path, (".dist-info/METADATA",)):
        yield from document_pairs(file.content.decode("utf-8", "replace"))
    for file in wheel_files(path, (".po",)):
        yield from po_pairs(file.path, file.content.decode("utf-8", "replace"))
    by_folder: dict[str, dict[str, bytes]] = defaultdict(dict)
    for file in wheel_files(path, (".json",)):
        folder, _, name = file.path.rpartition("/")
        if folder.endswith("translations") and name.removesuffix(".json") in _LOCALES | {"en"}:
            by_folder[folder][name] = file.content
    for languages in by_folder.values():
        english = languages.pop("en.json", b"{}").decode("utf-8", "replace")
        for other in languages.values():
            yield from json_translations(english, other.decode("utf-8", "replace"))


def _of_repository(folder: Path, refused: Refused) -> Iterator[tuple[str, Pair]]:
    for file in repository_files(
        folder, (*_CODE, *_PROSE, ".py", ".po", ".txt"), _FILES_OF_ONE_REPOSITORY
    ):
        text = file.content.decode("utf-8", "replace")
        if file.path.endswith(_PROSE):
            yield from document_pairs(text)
        elif file.path.endswith(".py"):
            yield from python_pairs(text, refused)
        elif file.path.endswith(".po"):
            yield from po_pairs(file.path, text)
        elif not re.search(r"test|spec", file.path, re.IGNORECASE):
            yield from comment_pairs(text)
    yield from commit_pairs(folder, _COMMITS)


def _write(
    out: Path, kept: dict[str, list[Pair]], used: list[Source], choose: random.Random
) -> None:
    out.mkdir(parents=True, exist_ok=True)
    counts: Counter[str] = Counter()
    with (out / "pairs.jsonl").open("w", encoding="utf-8", errors="replace") as stream:
        for kind in sorted(kept):
            distinct = list(dict.fromkeys(kept[kind]))
            limit = min(len(distinct), _OF_ONE_KIND.get(kind, _OF_OTHER_KINDS))
            for left, right in choose.sample(distinct, limit):
                stream.write(json.dumps([kind, left, right], ensure_ascii=False) + "\n")
                counts[kind] += 1
    rows = ",\n".join(json.dumps(source._asdict()) for source in sorted(set(used)))
    (out / "sources.json").write_text(f"[\n{rows}\n]\n", encoding="utf-8")
    print(dict(counts), len(used), "sources")


if __name__ == "__main__":
    main()
