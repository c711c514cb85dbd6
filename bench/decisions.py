"""Decisions agreed in chats or written in commits, told at the prompt that needs them.

`python -m bench.decisions DATA [--part open|closed|all] [--foreign PROMPTS.json]`: one JSON object
is printed last. DATA is the development half of sde-bench (`sde_dev.json`). For each task the bank
holds the decoys, the chats of all other decisions and its own; told is right when every pattern of
`must_say` stands in what the product says unasked. Asked again without its own chats, and at
ordinary and foreign prompts, it must be silent. The decisions in `CLOSED` were not looked at while
the gate was set. Beside it: BM25 over whole chats or commits that always tells the best one.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bench.harm import Scene
from bench.plain_bm25 import PlainBm25
from wellkept.core.changes import Close
from wellkept.core.query import Filter
from wellkept.core.text import content_words, stem
from wellkept.graph.history.git_log import Commit
from wellkept.memory.exchange.passages import remember_passages
from wellkept.project.repository.ownership import history_statements

CLOSED = frozenset({"findhashtags", "mimemap", "slalog", "under2camel"})
_BUDGET_TOKENS = 150


class Bank:
    """A store with chats and commits, asked as a hook would."""

    def __init__(self, home: Path, *, like: Bank | None = None) -> None:
        self._sessions: dict[str, set[str]] = {}
        first = 0
        if like is not None:
            home.mkdir()
            shutil.copy(like.file, home / "memory.db")
            self._sessions = {name: set(ids) for name, ids in like._sessions.items()}
            first = like._scene.number
        self._scene = Scene(home, project="bench", number=first)
        self.file = home / "memory.db"

    def chat(self, name: str, turns: Sequence[dict[str, str]]) -> None:
        """One session."""
        before = self._ids()
        self._scene.session()
        for turn in turns:
            if turn["role"] == "user":
                self._scene.say(turn["text"])
            else:
                self._scene.answer(turn["text"])
        self._scene.session()
        self._sessions.setdefault(name, set()).update(self._ids() - before)

    def commits(self, rows: Iterable[dict[str, Any]]) -> None:
        """Commits, newest first."""
        found = history_statements([_commit(row) for row in rows])
        wk = self._scene.wk
        remember_passages(wk.engine, [one.passage() for one in found], project=wk.project)

    def drop(self, name: str) -> None:
        """Close what a chat left."""
        self._close(self._sessions[name])

    def drop_commit(self, sha: str) -> None:
        """Close a commit's record."""
        store = self._scene.wk.engine.store
        where = Filter(project=self._scene.wk.project)
        self._close({one.id for one in store.iterate(where) if one.commit_sha == sha})

    def told(self, prompt: str) -> str:
        """What is said at a prompt, "" for silence."""
        pack = self._scene.wk.context(prompt, moment="prompt", budget_tokens=_BUDGET_TOKENS)
        return "\n".join(item.text for item in pack.items)

    def close(self) -> None:
        """Close the store."""
        self._scene.wk.close()

    def _ids(self) -> set[str]:
        store = self._scene.wk.engine.store
        return {one.id for one in store.iterate(Filter(project=self._scene.wk.project))}

    def _close(self, ids: set[str]) -> None:
        store, now = self._scene.wk.engine.store, self._scene.clock.now
        for memory in store.get(list(ids)):
            if memory.is_open:
                store.apply([Close(memory.id, max(now, memory.valid_from))])


def _commit(row: dict[str, Any]) -> Commit:
    at = datetime.fromisoformat(row["at"]).astimezone(UTC)
    files = tuple(row["files"])
    return Commit(row["h"], 1, at, "someone", f"{row['s']}\n\n{row['b']}", files)


def says(text: str, patterns: Sequence[str]) -> bool:
    """Whether every pattern stands in a text."""
    return all(re.search(one, text, re.IGNORECASE | re.DOTALL) for one in patterns)


def _count(
    counts: Counter[str], kind: str, task: dict[str, Any], bank: Bank, *, absent: bool
) -> None:
    for number, prompt in enumerate((task["prompt"], *task["short_prompts"])):
        name = kind if number == 0 else f"{kind} short"
        told = bank.told(prompt)
        if absent:
            counts[f"{name} absent told"] += bool(told)
            if told:
                print(f"{task['id']} {number} absent: {told[:150]!r}")
            continue
        right = says(told, task["must_say"])
        old = task.get("superseded")
        counts[f"{name} tasks"] += 1
        counts[f"{name} right"] += right and not (old and re.search(old, told, re.IGNORECASE))
        counts[f"{name} other"] += bool(told) and not right
        if not right:
            print(f"{task['id']} {number}: {told[:150]!r}")


def measure_chats(data: dict[str, Any], tasks: Sequence[dict[str, Any]]) -> Counter[str]:
    """Told at the prompts of chat tasks, with and without their own chats."""
    counts = Counter[str]()
    others = [one for one in data["tasks"] if one["kind"] == "chat"]
    with TemporaryDirectory() as folder:
        base = Bank(Path(folder) / "base")
        for decoy in data["decoys"]:
            base.chat(decoy["id"], decoy["turns"])
        for one in others:
            base.chat(one["decision_id"], one["chats"][0])
        base.close()
        for task in tasks:
            bank = Bank(Path(folder) / task["id"], like=base)
            own = task["decision_id"]
            if task["kind"] == "chat_amended":
                bank.drop(own)
                own = "amended"
                for turns in task["chats"]:
                    bank.chat(own, turns)
            _count(counts, "chat", task, bank, absent=False)
            bank.drop(own)
            _count(counts, "chat", task, bank, absent=True)
            bank.close()
            counts["chat bm25 right"] += says(_plain_chat(data, task, others), task["must_say"])
    return counts


def measure_history(data: dict[str, Any], tasks: Sequence[dict[str, Any]]) -> Counter[str]:
    """Told at the prompts of history tasks, with and without the commit."""
    counts = Counter[str]()
    with TemporaryDirectory() as first:
        base = Bank(Path(first) / "base")
        base.commits(data["commits"])
        base.close()
        for task in tasks:
            bank = Bank(Path(first) / task["id"], like=base)
            bank.commits(task["commits_on_top"])
            _count(counts, "history", task, bank, absent=False)
            own = next(c for c in task["commits_on_top"] if c["s"] == task["decision_commit"])
            bank.drop_commit(own["h"])
            _count(counts, "history", task, bank, absent=True)
            bank.close()
            every = [*task["commits_on_top"], *data["commits"]]
            texts = {one["h"]: f"{one['s']}\n\n{one['b']}" for one in every}
            counts["history bm25 right"] += says(_best(texts, task["prompt"]), task["must_say"])
    return counts


def measure_silence(data: dict[str, Any], prompts: Sequence[str]) -> int:
    """At how many prompts something is told, with all chats and commits in one store."""
    with TemporaryDirectory() as folder:
        bank = Bank(Path(folder))
        for decoy in data["decoys"]:
            bank.chat(decoy["id"], decoy["turns"])
        for task in data["tasks"]:
            for turns in task.get("chats") or ():
                bank.chat(task["id"], turns)
        bank.commits(data["commits"])
        told = [prompt for prompt in prompts if bank.told(prompt)]
        bank.close()
    for prompt in told:
        print(f"told at {prompt[:100]!r}")
    return len(told)


def _plain_chat(
    data: dict[str, Any], task: dict[str, Any], others: Sequence[dict[str, Any]]
) -> str:
    chats = {one["id"]: one["turns"] for one in data["decoys"]}
    chats |= {o["id"]: o["chats"][0] for o in others if o["decision_id"] != task["decision_id"]}
    chats |= {f"own{number}": turns for number, turns in enumerate(task["chats"])}
    whole = {name: " ".join(turn["text"] for turn in turns) for name, turns in chats.items()}
    name = _best(whole, task["prompt"], named=True)
    return next(turn["text"] for turn in reversed(chats[name]) if turn["role"] == "assistant")


def _best(texts: dict[str, str], prompt: str, *, named: bool = False) -> str:
    index = PlainBm25()
    for name, text in texts.items():
        index.put(name, map(stem, content_words(text)))
    (found,) = index.search(map(stem, content_words(prompt)), limit=1)
    return found if named else texts[found]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--part", choices=("open", "closed", "all"), default="open")
    parser.add_argument("--foreign", type=Path, help="a JSON list of prompts of other projects")
    options = parser.parse_args()
    data = json.loads(options.data.read_text(encoding="utf-8"))
    wanted = {"open": (False,), "closed": (True,), "all": (False, True)}[options.part]
    tasks = [one for one in data["tasks"] if (one["decision_id"] in CLOSED) in wanted]
    figures: dict[str, int] = {
        **measure_chats(data, [one for one in tasks if one["kind"] != "history"]),
        **measure_history(data, [one for one in tasks if one["kind"] == "history"]),
        "ordinary prompts": len(data["ordinary_prompts"]),
        "ordinary told": measure_silence(data, data["ordinary_prompts"]),
    }
    if options.foreign:
        prompts = json.loads(options.foreign.read_text(encoding="utf-8"))
        figures |= {"foreign prompts": len(prompts), "foreign told": measure_silence(data, prompts)}
    for name, number in sorted(figures.items()):
        print(f"{name:28} {number}")
    print(json.dumps({"bench": "decisions", "part": options.part, **figures}))


if __name__ == "__main__":
    main()
