"""Whatever comes in, folding takes it: no text breaks the rules, and no order of events does."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.observe.telling import START, Teller, folded, world
from wellkept.core.memory import MemoryDraft
from wellkept.core.payloads import Observation
from wellkept.core.query import Filter
from wellkept.core.session.events import Event, ToolKind
from wellkept.memory.draft import compose
from wellkept.memory.engine import Engine
from wellkept.observe.ingest.ingest import memory_changes
from wellkept.observe.session.reducer import SessionUpdate, apply_events
from wellkept.observe.session.state import dump_state, load_state

pytestmark = pytest.mark.feature("C1", "C3")

PIECES = (
    "pytest -q", "git commit -m 'x'", "cat > a.py <<EOF\nx\nEOF", "&&", "|", ";", "'", '"', "`", "\\",
    "$(", ")", "\n", "\t", "<private>", "</private>", "<wellkept-memory>", "FAILED a.py::t - E: x",
    "1 failed, 2 passed in 1s", "[main abc1234] Say x", "def f():\n    pass\n", "class A {", "}",
    "## Heading", "key = 1", "\x00", "\ud800", "\x1b[31m", "é", "日本語", "🙂", "-m", "<<", "EOF",
    "npm install x", "alembic upgrade head", "error: no", "Exit code 1", "Next steps:", "- do it",
)  # fmt: skip
texts = st.lists(st.sampled_from(PIECES) | st.text(max_size=12), max_size=8).map(" ".join)
paths = st.sampled_from(
    ("a.py", "src/b.ts", "../x", "/etc/x", "README.md", "c.toml", "", "\0", "d" * 600, "é/日.go")
)
steps = st.lists(
    st.tuples(st.integers(0, 9), texts, texts, texts, paths, st.booleans()), max_size=14
)


def event(say: Teller, step: tuple[int, str, str, str, str, bool]) -> Event:
    number, one, two, three, path, fails = step
    error = three if fails else None
    agent = "sub" if fails and number % 2 else None
    match number:
        case 0:
            return say.prompt(one)
        case 1 | 2:
            return say.edit(path, one, two, agent=agent)
        case 3 | 4:
            return say.run(one, two, error=error, agent=agent)
        case 5:
            return say.call(one or "tool", ToolKind.OTHER, input=two, output=three, error=error)
        case 6:
            return say.turn_end(one)
        case 7:
            return say.compacted(one)
        case 8:
            return say.read(path, agent=agent)
        case _:
            return say.end(one)


@settings(max_examples=150)
@given(steps)
def test_nothing_that_can_be_said_breaks_folding(
    given_steps: list[tuple[int, str, str, str, str, bool]],
) -> None:
    say = Teller()
    result = folded([say.start(), *(event(say, step) for step in given_steps)])
    for draft in result.drafts:
        check(draft)
    assert dump_state(load_state(result.session.work)) == result.session.work


def check(draft: MemoryDraft) -> None:
    """A draft that can be stored, with a title that is one."""
    compose(draft, project="p", id="0" * 8 + "-0000-7000-8000-" + "0" * 12, now=START)
    if isinstance(draft.payload, Observation):
        assert 0 < len(draft.payload.title) < 100
        assert "\n" not in draft.payload.title
    assert "<wellkept-memory" not in draft.content


@settings(max_examples=40)
@given(steps, st.integers(1, 13))
def test_where_a_batch_is_cut_does_not_matter(
    given_steps: list[tuple[int, str, str, str, str, bool]], cut: int
) -> None:
    say = Teller()
    events = [say.start(), *(event(say, step) for step in given_steps)]
    whole = folded(events)
    first = folded(events[:cut])
    rest = (
        apply_events(first.session, events[cut:], environment=world())
        if events[cut:]
        else SessionUpdate(first.session)
    )
    assert [d.content for d in (*first.drafts, *rest.drafts)] == [d.content for d in whole.drafts]
    assert rest.session.tool_count == whole.session.tool_count


def test_a_command_of_unclosed_quotes_and_documents_is_read_in_good_time() -> None:
    say = Teller()
    nasty = [say.run("<<EOF " * 40_000), say.run('-m "' * 40_000), say.run("git commit " * 30_000)]
    assert folded(nasty).session.tool_count == 3


def test_an_engine_can_keep_what_folding_gave(engine: Engine) -> None:
    say = Teller()
    made = say.edit("é.py", "", "def é():\n    pass\n")
    result = folded([say.prompt("x \ud800 y"), made, say.end()])
    engine.store.apply(memory_changes(engine, result))
    assert engine.store.search_fulltext(["new"], Filter(project=None), limit=5)
