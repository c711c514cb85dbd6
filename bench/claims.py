"""How well the check of a model's wording tells what a session holds from what it does not.

    python -m bench.claims --fetched DIR [--sessions N] [--json]

DIR holds git directories of public repositories (OWNER+NAME/repo) whose `entire/…` branch keeps
transcripts with summaries that a model wrote. Their sentences are checked against the session's own
events: as written, with one number changed, and with one name swapped for another of the session.
Kept as written should be many, kept when swapped few. Beside it the dumbest check: a sentence is
kept when every name and number of it stands anywhere in the session.
"""

from __future__ import annotations

import json
import random
import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple, cast

from bench.report import finish, machine, parser, say, table
from wellkept.clients.hook_spec import ClientFolders
from wellkept.clients.registry import transcripts
from wellkept.core.chat.transcripts import ReadStats, Transcript
from wellkept.core.codec import Json
from wellkept.core.session.events import (
    Compacted,
    PromptSubmitted,
    SubagentEnded,
    ToolCalled,
    TurnEnded,
)
from wellkept.core.text import fold
from wellkept.observe.model.claims import Evidence, names_of, numbers_of

REPOSITORIES = ("PackmindHub+context-evaluator", "entireio+cli", "Beep206+CyberVPN")
_BRANCH = "entire/checkpoints/v1"
_LEFT = ("intent", "path")
_SENTENCE = re.compile(r"(?<=[.!?;])\s+")


class Summary(NamedTuple):
    """What a model wrote about a session, and what the session holds."""

    texts: list[str]
    sentences: list[str]


def main() -> None:
    """Print the shares by repository."""
    arguments = parser(__doc__)
    arguments.add_argument("--fetched", type=Path, required=True)
    arguments.add_argument("--sessions", type=int, default=40)
    options = arguments.parse_args()
    figures: dict[str, Json] = {}
    rows: list[tuple[str, ...]] = []
    for name in REPOSITORIES:
        clone = options.fetched / name / "repo"
        if not clone.exists():
            say(f"{name} is not there")
            continue
        counts = Counter[str]()
        for one in summaries(clone, most=options.sessions):
            counts += checked(one)
        shares = {
            key: round(counts[key] / max(counts[f"of {key.partition(' by ')[0]}"], 1), 3)
            for key in counts
            if not key.startswith("of ")
        }
        figures[name] = {**shares, "sentences": counts["of as written"]}
        rows += [(name, key, f"{100 * share:.0f} %") for key, share in sorted(shares.items())]
    lines = table(("repository", "kept", "share"), rows)
    finish("claims", {**figures, "machine": machine()}, as_json=options.json, lines=lines)


def checked(one: Summary) -> Counter[str]:
    """How many sentences are kept, as written and with something swapped."""
    evidence = Evidence.of(one.texts)
    whole = fold("\n".join(one.texts))
    counts = Counter[str]()
    for kind, sentence in _forms(one):
        counts[f"of {kind}"] += 1
        counts[kind] += evidence.has(sentence)
        said = (*names_of(sentence), *numbers_of(sentence))
        counts[f"{kind} by mere presence"] += all(fold(part) in whole for part in said)
    return counts


def _forms(one: Summary) -> Iterator[tuple[str, str]]:
    chance = random.Random(7)
    known = sorted({name for sentence in one.sentences for name in names_of(sentence)})
    for sentence in one.sentences:
        yield "as written", sentence
        if numbers := numbers_of(sentence):
            number = chance.choice(numbers)
            other = str(int(float(number.replace(",", ""))) + chance.choice((1, 2, 7, 30)))
            yield "number swapped", sentence.replace(number, other, 1)
        names = names_of(sentence)
        others = [name for name in known if fold(name) not in fold(sentence)]
        if names and others:
            yield "name swapped", sentence.replace(chance.choice(names), chance.choice(others), 1)


def summaries(clone: Path, *, most: int) -> Iterator[Summary]:
    """Checkpoints with a summary by a model, one a session, with the texts of their events."""
    seen: set[str] = set()
    pattern = ("-l", '"summary": {', _BRANCH, "--", "*metadata.json")
    for line in _git(clone, "grep", *pattern).splitlines():
        about = json.loads(_git(clone, "show", line))
        text = _git(clone, "show", line.replace("metadata.json", "full.jsonl"))
        if about["session_id"] in seen or not text or len(seen) == most:
            continue
        seen.add(about["session_id"])
        with TemporaryDirectory() as folder:
            path = Path(folder, f"{about['session_id']}.jsonl")
            path.write_text(text, encoding="utf-8")
            places = ClientFolders(home=path.parent, project=path.parent, environment={})
            for found in transcripts("claude-code", folders=places, paths=[path]):
                if isinstance(found, Transcript) and (texts := _texts(found)):
                    yield Summary(texts, _sentences(about["summary"]))


def _sentences(written: object) -> list[str]:
    """What a model wrote, sentence by sentence: its texts wherever they stand, without its account
    of what was asked."""
    match written:
        case str():
            return [one.strip() for one in _SENTENCE.split(written) if one.strip()]
        case list():
            return [one for part in cast("list[object]", written) for one in _sentences(part)]
        case dict():
            parts = cast("dict[str, object]", written).items()
            return [one for name, part in parts if name not in _LEFT for one in _sentences(part)]
        case _:
            return []


def _texts(found: Transcript) -> list[str]:
    texts: list[str] = []
    for part in found.parts:
        for step in part.read(ReadStats()):
            match step.event:
                case PromptSubmitted(text=text):
                    texts.append(text)
                case TurnEnded(last_message=str(text)) | SubagentEnded(last_message=str(text)):
                    texts.append(text)
                case Compacted(summary=str(text)):
                    texts.append(text)
                case ToolCalled() as call:
                    changed = (f"{one.before}\n{one.after}" for one in call.edits)
                    head = f"{call.command or call.name} {' '.join(call.files)}"
                    texts.append("\n".join((head, call.output, call.error or "", *changed)))
                case _:
                    continue
    return texts


def _git(clone: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", f"--git-dir={clone}", *arguments], capture_output=True, check=False
    )
    return done.stdout.decode("utf-8", "replace")


if __name__ == "__main__":
    main()
