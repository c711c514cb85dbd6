"""What looking something up costs a model: three layers against returning full records.

    python -m bench.mcp_tokens [--queries 50] [--rows 20] [--json]

Each question is about one known memory, in words from it. Three layers: search for index rows,
the timeline around the memory, then its full record (the best row's where it was not found). Rows
of every score are taken; a search by default leaves out what hardly answers, here most of them.
That is the best case: the reader knows at once which row matters. So it is also counted for a
reader who opens the three best rows.
Beside it, the same hits returned at once: as complete records (every field, as JSON), and as the
text that memory_get gives. Two memories: made-up sessions of observations of the length that
an agent writes, and what a project's own documents and history come to, most of it one line long.
Tokens are estimated by the library's own counter; trust the ratios.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import cast

from bench.corpus import Corpus
from bench.report import Target, finish, machine, parser, ratio, say, table
from wellkept import Wellkept
from wellkept import open as open_memory
from wellkept.api.verbs.as_json import plain
from wellkept.core.codec import Json, record_to_json
from wellkept.core.memory import Memory
from wellkept.core.text import content_words
from wellkept.memory.arguments import READABLE

TARGET_RATIO = 10.0
_DEPTH = 3
_OPENED = 3
_KINDS = ("decision", "bugfix", "feature", "refactor", "discovery", "change")
_SENTENCES_EACH = 10
_LONG_ENOUGH_WORDS = 4


@dataclass(slots=True)
class Spent:
    """Tokens spent over all questions, by what they were spent on."""

    tokens: dict[str, int] = field(default_factory=dict[str, int])
    found: int = 0
    questions: int = 0

    def add(self, name: str, tokens: int) -> None:
        """Count some more."""
        self.tokens[name] = self.tokens.get(name, 0) + tokens

    def share(self, of: str, by: str) -> float | None:
        """How many times as much one way took as the other."""
        return ratio(self.tokens[of], self.tokens[by])

    def as_json(self) -> dict[str, Json]:
        """Means per question, and the ratios."""
        means = {name: round(total / self.questions, 1) for name, total in self.tokens.items()}
        return {
            "questions": self.questions,
            "found_percent": round(100 * self.found / self.questions, 1),
            "mean_tokens": cast("Json", means),
            "records_against_layers": self.share("all records", "three layers"),
            "records_against_layers_three_read": self.share(
                "all records", "three layers, three read"
            ),
            "texts_against_layers_three_read": self.share("all texts", "three layers, three read"),
            "texts_against_layers": self.share("all texts", "three layers"),
            "records_against_structured_layers": self.share("all records", "layers structured"),
        }


# -- The two memories -----------------------------------------------------------------------------


def fill_with_sessions(wk: Wellkept, *, observations: int) -> None:
    """Observations with a title, some facts and a narrative, out of made-up sentences."""
    sentences = [
        m.content for m in Corpus().block(0, count=observations * _SENTENCES_EACH).memories
    ]
    for number in range(observations):
        own = sentences[number * _SENTENCES_EACH : (number + 1) * _SENTENCES_EACH]
        wk.session.note(
            kind=_KINDS[number % len(_KINDS)],
            title=own[0][:100],
            facts=own[1:6],
            narrative=" ".join(own[6:]),
            concepts=content_words(own[0])[:4],
            files_modified=[f"src/module_{number % 40}.py"],
            work_tokens=4_000,
            session=f"session-{number // 12}",
        )


def fill_with_project(wk: Wellkept) -> None:
    """What the project in this folder holds about itself."""
    wk.import_repository()


# -- One question ---------------------------------------------------------------------------------


def questions(wk: Wellkept, *, count: int) -> list[tuple[str, Memory]]:
    """Questions in words of the memories that they are about."""
    chance = random.Random("mcp tokens")
    known = sorted(wk.iterate(), key=lambda m: m.id)
    fit = [m for m in known if len(set(content_words(m.content))) >= _LONG_ENOUGH_WORDS]
    asked: list[tuple[str, Memory]] = []
    for memory in chance.sample(fit, k=min(count, len(fit))):
        words = list(dict.fromkeys(content_words(memory.content)))
        asked.append((" ".join(chance.sample(words, k=_LONG_ENOUGH_WORDS)), memory))
    return asked


def ask(wk: Wellkept, query: str, about: Memory, spent: Spent, *, rows: int) -> None:
    """One question, both ways."""
    cost = wk.engine.count_tokens

    def count(layer: str, answer: object, text: str) -> None:
        spent.add(layer, cost(text))
        spent.add("three layers", cost(text))
        spent.add("layers structured", cost(json.dumps(plain(answer), ensure_ascii=False)))

    def whole(names: list[str]) -> str:
        return wk.show(names).as_text()

    found = wk.recall(query, limit=rows, min_score=0.0, count_access=False, types=READABLE)
    rows_text = found.as_text(brief=True)
    ids = found.ids
    spent.questions += 1
    spent.found += about.short in ids
    wanted = about.short if about.short in ids or not ids else ids[0]
    count("search", found, rows_text)
    around = wk.list(around=wanted, before=_DEPTH, after=_DEPTH, types=(*READABLE, "prompt"))
    count("timeline", around, around.as_text())
    count("get", wk.show(wanted), whole([wanted]))
    few = list(dict.fromkeys([wanted, *ids]))[:_OPENED]
    read = cost(rows_text) + cost(around.as_text()) + cost(whole(few))
    spent.add("three layers, three read", read)
    spent.add("all texts", cost(whole(ids or [wanted])))
    for name in ids or [wanted]:
        record = json.dumps(record_to_json(wk.get(name)), ensure_ascii=False)
        spent.add("all records", cost(record))


def measured(
    fill: Callable[[Wellkept], None], folder: Path, *, count: int, rows: int, cwd: Path
) -> Spent:
    """All questions to one memory."""
    spent = Spent()
    with open_memory(folder / "memory.db", project="bench", cwd=cwd, embedder="none") as wk:
        fill(wk)
        for query, about in questions(wk, count=count):
            ask(wk, query, about, spent, rows=rows)
    return spent


def main() -> int:
    """Run it all."""
    options = parser(__doc__)
    options.add_argument("--queries", type=int, default=50)
    options.add_argument("--rows", type=int, default=20, help="rows of a search")
    options.add_argument("--observations", type=int, default=600)
    given = options.parse_args()
    fills: dict[str, Callable[[Wellkept], None]] = {
        "sessions": lambda wk: fill_with_sessions(wk, observations=given.observations),
        "project": fill_with_project,
    }
    results: dict[str, Spent] = {}
    for name, fill in fills.items():
        say(f"{name} …")
        with TemporaryDirectory() as folder:
            results[name] = measured(
                fill,
                Path(folder),
                count=given.queries,
                rows=given.rows,
                cwd=Path(__file__).parent.parent,
            )
    target = Target(
        "full records against three layers, sessions",
        TARGET_RATIO,
        results["sessions"].share("all records", "three layers"),
        at_least=True,
    )
    figures: dict[str, Json] = {
        "rows": given.rows,
        **{name: spent.as_json() for name, spent in results.items()},
        "targets": [target.as_json()],
        "machine": machine(),
    }
    finish("mcp_tokens", figures, as_json=given.json, lines=_lines(results))
    return 0 if target.met else 1


def _lines(results: dict[str, Spent]) -> list[str]:
    names = list(next(iter(results.values())).tokens)
    means = {
        memory: {name: total / spent.questions for name, total in spent.tokens.items()}
        for memory, spent in results.items()
    }
    rows = [[name, *(f"{means[memory][name]:,.0f}" for memory in results)] for name in names]
    return table(["mean tokens per question", *results], rows)


if __name__ == "__main__":
    raise SystemExit(main())
