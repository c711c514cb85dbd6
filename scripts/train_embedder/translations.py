"""Gather translated messages: `python -m scripts.train_embedder.translations REPOSITORIES OUT`.

Reads the message files of six projects (`_PROJECTS`, with the licence of what is read) from bare
clones named `owner+name/repo` and writes `translations.jsonl`: language, English, translation.
VS Code has no English file among its packs, but a pseudo-language: English with other letters.
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from scripts.train_embedder.pairs import json_translations, po_pairs
from scripts.train_embedder.sources import git, repository_files

Message = tuple[str, str, str]

LANGUAGES = ("de", "fr", "es", "it", "pt", "ru", "ja", "ko", "zh", "pl", "cs", "tr", "nl", "ar")
_OF_ONE_LANGUAGE = 60_000
_SEED = 12
_XLIFF = "{urn:oasis:names:tc:xliff:document:1.2}"
_PSEUDO = str.maketrans(
    "ÄÅÆÇÐËÏÑÖØÜÝßàáâãäåæçèéêëìíîïðñòóôõöøùúûüýþÿµ§",
    "AAACDEINOOUYBaaaaaaaceeeeiiiidnoooooouuuuybyuS",
)


def main() -> None:
    """Read every project and keep an equal share of each language."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("repositories", type=Path)
    options.add_argument("out", type=Path)
    arguments = options.parse_args()
    found: dict[str, dict[tuple[str, str], None]] = defaultdict(dict)
    for name, read in _PROJECTS.items():
        folder = arguments.repositories / name.replace("/", "+") / "repo"
        for language, english, other in read(folder):
            if language in LANGUAGES:
                found[language][english, other] = None
        print(name, {language: len(pairs) for language, pairs in found.items()}, flush=True)
    choose = random.Random(_SEED)
    arguments.out.mkdir(parents=True, exist_ok=True)
    with (arguments.out / "translations.jsonl").open("w", encoding="utf-8") as stream:
        for language in LANGUAGES:
            pairs = list(found[language])
            for pair in choose.sample(pairs, min(len(pairs), _OF_ONE_LANGUAGE)):
                stream.write(json.dumps([language, *pair], ensure_ascii=False) + "\n")


def _vs_code(folder: Path) -> Iterator[Message]:
    """MIT."""
    for path in _files(folder, r"i18n/vscode-language-pack-qps-ploc/translations/.*\.json"):
        english = _show(folder, path).translate(_PSEUDO)
        for language in LANGUAGES:
            pack = {"zh": "zh-hans", "pt": "pt-BR"}.get(language, language)
            other = _show(folder, path.replace("qps-ploc", pack))
            for _, pair in json_translations(english, other):
                yield language, *pair


def _dotnet(folder: Path) -> Iterator[Message]:
    """MIT."""
    for path in _files(folder, r"src/.*\.xlf"):
        language = path.split(".")[-2].partition("-")[0]
        if path.endswith(".zh-Hant.xlf") or language not in LANGUAGES:
            continue
        root = ElementTree.fromstring(_show(folder, path).lstrip("\ufeff"))
        texts = {
            unit.get("id", ""): (
                unit.findtext(f"{_XLIFF}source", ""),
                unit.findtext(f"{_XLIFF}target", ""),
            )
            for unit in root.iter(f"{_XLIFF}trans-unit")
        }
        yield from _matched(
            language, {k: v[0] for k, v in texts.items()}, {k: v[1] for k, v in texts.items()}
        )


def _zulip(folder: Path) -> Iterator[Message]:
    """Apache-2.0."""
    for path in _files(folder, r"locale/[^/]+/(LC_MESSAGES/django\.po|translations\.json)"):
        language = path.split("/")[1].partition("_")[0]
        if "Hant" in path or "TW" in path:
            continue
        text = _show(folder, path)
        if path.endswith(".po"):
            for _, pair in po_pairs(path, text):
                yield language, *pair
        else:
            messages: dict[str, str] = json.loads(text)
            yield from _matched(language, {key: key for key in messages}, messages)


def _rocket_chat(folder: Path) -> Iterator[Message]:
    """MIT outside of `ee`."""
    where = "packages/i18n/src/locales/{}.i18n.json"
    english = json.loads(_show(folder, where.format("en")))
    for language in LANGUAGES:
        text = _show(folder, where.format(language))
        if text:
            yield from _matched(language, english, json.loads(text))


def _mattermost(folder: Path) -> Iterator[Message]:
    """Apache-2.0 for these two folders."""
    for where in ("server/i18n/{}.json", "webapp/channels/src/i18n/{}.json"):
        english = _by_id(json.loads(_show(folder, where.format("en"))))
        for language in LANGUAGES:
            name = {"zh": "zh-CN", "pt": "pt-BR"}.get(language, language)
            text = _show(folder, where.format(name))
            if text:
                yield from _matched(language, english, _by_id(json.loads(text)))


def _tldr(folder: Path) -> Iterator[Message]:
    """CC BY 4.0. What commands do, line by line."""
    pages = re.compile(r"pages(\.[a-z]{2}(_BR)?)?/[a-z]+/.*\.md")
    told: dict[tuple[str, str], list[str]] = {}
    for file in repository_files(folder, (".md",), matching=pages):
        top, _, path = file.path.partition("/")
        language = top.removeprefix("pages").strip(".")[:2]
        text = file.content.decode("utf-8", "replace")
        lines = [line for line in text.split("\n") if re.match(r"[>-] (?!.*<http)", line)]
        told[language, path] = [re.sub(r"\[(\w)\]", r"\1", line[2:]).rstrip(":") for line in lines]
    for (language, path), lines in told.items():
        english = told.get(("", path), [])
        if language and len(english) == len(lines):
            numbers = range(len(lines))
            yield from _matched(
                language, {str(n): english[n] for n in numbers}, {str(n): lines[n] for n in numbers}
            )


_PROJECTS: dict[str, Callable[[Path], Iterator[Message]]] = {
    "microsoft/vscode-loc": _vs_code,
    "dotnet/sdk": _dotnet,
    "zulip/zulip": _zulip,
    "RocketChat/Rocket.Chat": _rocket_chat,
    "mattermost/mattermost": _mattermost,
    "tldr-pages/tldr": _tldr,
}


def _by_id(messages: Any) -> dict[str, str]:
    if isinstance(messages, list):
        return {m["id"]: m["translation"] for m in messages if isinstance(m["translation"], str)}
    return messages


def _matched(language: str, english: dict[str, str], other: dict[str, str]) -> Iterator[Message]:
    for _, pair in json_translations(json.dumps(english), json.dumps(other)):
        yield language, *pair


def _files(folder: Path, pattern: str) -> list[str]:
    names = git(folder, "ls-tree", "-r", "--name-only", "HEAD").split("\n")
    return sorted(name for name in names if re.fullmatch(pattern, name))


def _show(folder: Path, path: str) -> str:
    return git(folder, "show", f"HEAD:{path}")


if __name__ == "__main__":
    main()
