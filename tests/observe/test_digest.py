"""The digest of a session: quoted, chosen, cut at a sentence; records beside it."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.observe.learning_steps import START, Work
from tests.observe.telling import ROOT, world
from wellkept.context.start.last_work import (
    DIGEST_TOKENS,
    Situation,
    at_work,
    digest_line,
    earlier_line,
    is_team_starting,
    title_of,
    to_go_on_from,
)
from wellkept.core.records import replace
from wellkept.core.session.events import Compacted, Event
from wellkept.core.session.sessions import SessionRecord
from wellkept.core.text import estimate_tokens
from wellkept.observe.session.digest import digest_of, since_commit
from wellkept.observe.session.drafts import summary_key
from wellkept.observe.session.reducer import apply_events
from wellkept.observe.session.state import load_state
from wellkept.text.reports import cut, open_ends, sentences
from wellkept.text.secrets.redaction import redact

pytestmark = pytest.mark.feature("C9", "C12", "B9")
NOW = START + timedelta(days=1, hours=12)
HERE = Situation(now=NOW, branch="work", root=ROOT)
REPORT = (
    "Refunds are rounded half up now. The cause was integer division in the ledger."
    " Not committed yet."
)


def session(events: list[Event], *, branch: str | None = "work") -> SessionRecord:
    made = apply_events(None, events, environment=world()).session
    return replace(made, branch=branch)


def fixing(w: Work | None = None, *, name: str = "session", said: str = REPORT) -> list[Event]:
    w = w or Work(1, name=name)
    return [
        w.prompt("fix the rounding of refunds in the ledger"),
        w.change("src/ledger.py"),
        w.run("pytest -q", "3 passed in 0.1s"),
        w.turn_end(said),
    ]


def all_there(shas: object, paths: object) -> frozenset[str]:
    return frozenset()


# -- Reading a report -----------------------------------------------------------------------------


def test_code_banners_and_announcements_are_left_out_and_table_rows_stay() -> None:
    said = """Perfect! Let me check the tests.

`★ Insight ───────────────`
Division truncates.
`─────────────────────────`

## What was wrong

| Issue | Fix |
|-------|-----|
| `total` drops cents | **round half up** |

```python
total = 1
```
1. **ledger.py** changed in [ledger.py](/home/ann/shop/src/ledger.py#L3).
::git-commit{cwd="/home/ann/shop"}
"""
    assert sentences(said) == [
        "What was wrong:",
        "`total` drops cents — round half up",
        "- ledger.py changed in ledger.py.",
    ]


def test_a_text_is_cut_at_a_sentence_in_the_order_written_and_the_cut_is_marked() -> None:
    said = [f"Sentence number {number} says one thing." for number in range(40)]
    told = cut(said, tokens=60)
    assert estimate_tokens(told) <= 60
    assert told == " ".join([*said[: told.count("Sentence")], "…"])
    assert cut(said[:2], tokens=60) == " ".join(said[:2])
    assert cut([], tokens=60) == ""
    assert len(cut(["word " * 400], tokens=60)) <= 240


def test_what_was_left_open_is_not_lost_by_the_cut() -> None:
    said = [*(f"Sentence number {number} says one thing." for number in range(40))]
    told = cut([*said, "No commits made for the last two tasks."], tokens=60)
    assert told.endswith("… No commits made for the last two tasks.")


@pytest.mark.parametrize(
    ("said", "is_open"),
    [
        ("The change is uncommitted.", True),
        ("Two tests still fail.", True),
        ("The migration was not run.", True),
        ("It is ready to push.", True),
        ("You should look at the tests.", False),
        ("This needs a newer compiler.", False),
        ("All committed.", False),
    ],
)
def test_open_ends_are_named_by_plain_words(said: str, is_open: bool) -> None:
    assert open_ends([said, "Done."]) == ([said] if is_open else [])


def test_a_question_at_the_very_end_is_open_and_one_before_it_is_not() -> None:
    assert open_ends(["Why? It truncates.", "Shall I push it?"]) == ["Shall I push it?"]
    assert open_ends(["Shall I push it?", "Pushed."]) == []


# -- The digest -----------------------------------------------------------------------------------


def test_the_digest_holds_what_was_asked_said_and_done() -> None:
    w = Work(1)
    made = "[work 0c0ffee1a] Round refunds half up\n 2 files changed"
    events = [*fixing(w), w.run("git commit -am 'Round refunds half up'", made)]
    digest = digest_of(session(events))
    assert digest.asked == ("fix the rounding of refunds in the ledger",)
    assert digest.outcome == tuple(sentences(REPORT))
    assert digest.open == ("Not committed yet.",)
    assert digest.files == ("src/ledger.py",)
    assert [(one.sha, one.subject) for one in digest.commits] == [
        ("0c0ffee1a", "Round refunds half up")
    ]
    assert [(one.typed, one.ok) for one in digest.checks] == [("pytest -q", True)]
    assert digest.source == "report"


def test_the_latest_of_three_messages_that_says_much_is_the_report() -> None:
    w = Work(1)
    events = [
        *fixing(w),
        w.prompt("what does the ledger do at night?"),
        w.turn_end("It rests."),
        w.prompt("and by day?"),
        w.turn_end("It works."),
    ]
    assert digest_of(session(events)).outcome == tuple(sentences(REPORT))
    newer = "Invoices are rounded half up too. The cause was the same integer division there."
    again = [*fixing(w), w.prompt("the same for invoices"), w.turn_end(newer)]
    assert digest_of(session(again)).outcome == tuple(sentences(newer))


def test_a_message_that_only_answers_commit_belongs_with_the_report_before_it() -> None:
    w = Work(1)
    events = [*fixing(w), w.prompt("commit and push"), w.turn_end("Committed on work, pushed.")]
    assert digest_of(session(events)).outcome == (
        *sentences(REPORT),
        "Committed on work, pushed.",
    )


def test_a_session_in_which_no_tool_ran_has_nothing_to_tell() -> None:
    w = Work(1)
    record = session([w.prompt("show me your version"), w.turn_end("It is version 2.")])
    assert not digest_of(record).says_something
    assert to_go_on_from([record], at=HERE) == []


def test_the_agents_own_words_come_first_then_a_models_then_a_later_compaction() -> None:
    w = Work(1)
    record = session(fixing(w))
    assert digest_of(record, noted="Half done.", by_model="Done.").source == "agent"
    assert digest_of(record, by_model="Rounded.").outcome == ("Rounded.",)
    summary = Compacted(origin=w.origin(), trigger="auto", summary="The ledger was read.")
    compacted = digest_of(session([*fixing(Work(1)), replace(summary, origin=late(w))]))
    assert (compacted.source, compacted.outcome) == ("compaction", ("The ledger was read.",))


def late(w: Work) -> object:
    made = w.origin()
    return replace(made, at=made.at + timedelta(hours=1))


def test_without_words_commits_are_told_and_else_files_that_are_there() -> None:
    w = Work(1)
    bare = digest_of(session([w.prompt("fix the ledger of refunds"), w.change("src/ledger.py")]))
    assert digest_line(bare, unknown=all_there) == "Edited: src/ledger.py"
    assert digest_line(bare, unknown=lambda _, paths: frozenset(paths)) == ""
    made = "[work 0c0ffee1a] Round refunds\n 1 file changed"
    events = [w.change("src/ledger.py"), w.run("git commit -am 'Round refunds'", made)]
    line = digest_line(digest_of(session(events)), unknown=all_there)
    assert line == "Committed: 0c0ffee1a Round refunds"


def test_a_sentence_that_names_what_is_not_there_is_left_out() -> None:
    said = "Fixed in 1a2b3c4d. See src/gone.py for it. Removed src/old.py. The rest is fine."
    digest = digest_of(session(fixing(said=said)))
    gone = frozenset({"1a2b3c4d", "src/gone.py", "src/old.py"})
    line = digest_line(digest, unknown=lambda shas, paths: gone & {*shas, *paths})
    assert line == "Removed src/old.py. The rest is fine."


@pytest.mark.parametrize(
    "said",
    [
        "The changes are not committed yet.",
        "Three files are still uncommitted.",
        "Ready to push when you want.",
        "I haven't pushed it.",
        "Nothing was committed, as you asked.",
        "Would you like me to commit these fixes?",
        "The working tree is clean.",
        "No tracked or staged changes.",
        "Ahead/behind: 0 / 0",
    ],
)
def test_how_git_stood_then_is_not_told(said: str) -> None:
    digest = digest_of(session(fixing(said=f"Refunds of an order are rounded once. {said}")))
    assert digest_line(digest, unknown=all_there) == "Refunds of an order are rounded once."


def test_a_few_words_are_no_report() -> None:
    digest = digest_of(session(fixing(said="Got it, go ahead and rebase.")))
    assert digest_line(digest, unknown=all_there) == "Edited: src/ledger.py"


def test_the_title_says_who_when_and_on_which_other_branch() -> None:
    digest = digest_of(session(fixing()))
    title = title_of(digest, branch="work")
    assert title == "Last work (2026-04-02 09:00 UTC, test-client), in the agent's words"
    assert "branch work)" in title_of(digest, branch="main")
    assert "a model's account" in title_of(digest_of(session(fixing()), by_model="x y"), branch="w")


def test_the_digest_keeps_to_its_tokens() -> None:
    long = " ".join(f"Part {number} of the ledger was changed." for number in range(90))
    digest = digest_of(session(fixing(said=long)))
    assert estimate_tokens(digest_line(digest, unknown=all_there)) <= DIGEST_TOKENS
    assert estimate_tokens(earlier_line(digest, unknown=all_there)) <= 60


def test_files_since_the_last_commit() -> None:
    w = Work(1)
    events = [
        w.change("src/a.py"),
        w.run("git add -A && git commit -m 'A' && git push", "[work 0c0ffee] A"),
        w.change("src/b.py"),
    ]
    assert since_commit(load_state(session(events).work).steps) == ["src/b.py"]


# -- Which session --------------------------------------------------------------------------------


def first(*records: SessionRecord, at: Situation = HERE) -> str:
    return to_go_on_from(records, at=at)[0].id


def test_work_on_this_branch_comes_first_unless_work_elsewhere_is_days_newer() -> None:
    newest = session(fixing(name="new"), branch="other")
    here = replace(session(fixing(), branch="work"), last_event_at=START)
    assert first(newest, here) == here.id
    old = replace(here, last_event_at=START - timedelta(days=4))
    assert first(newest, old) == newest.id


def test_a_session_without_an_end_counts_from_the_first_minute() -> None:
    record = session(fixing())
    soon = replace(HERE, now=record.last_event_at + timedelta(seconds=30))
    assert record.is_open
    assert first(record, at=soon) == record.id


def test_a_session_in_the_middle_of_a_turn_is_at_work_and_not_told() -> None:
    w = Work(1, name="other")
    running = session([w.prompt("Rewrite the invoice page"), w.change("src/page.py")])
    soon = replace(HERE, now=running.last_event_at + timedelta(minutes=4))
    assert to_go_on_from([running], at=soon) == []
    (line,) = at_work([running], at=soon)
    assert line == "Another session is at work here; it edited src/page.py"
    assert list(at_work([running], at=replace(soon, root="/elsewhere"))) == []
    assert list(at_work([running], at=HERE)) == []


def test_a_session_is_not_told_its_own_work() -> None:
    record = session(fixing())
    assert to_go_on_from([record], at=replace(HERE, current=record.id)) == []


def test_a_session_that_starts_among_team_mates_is_one_of_them() -> None:
    w = Work(1, name="mate")
    brief = '<teammate-message teammate_id="lead">Fix src/a.py</teammate-message>'
    mate = session([w.prompt(brief), w.change("src/a.py")])
    just_now = replace(HERE, now=mate.last_event_at + timedelta(seconds=30))
    assert is_team_starting([mate], at=just_now)
    assert not is_team_starting([mate], at=HERE)
    assert not is_team_starting([session(fixing())], at=just_now)


def test_the_key_of_a_summary_is_no_secret() -> None:
    key = summary_key("7e8b8b3f-82a1-49a2-b167-839fde77b014")
    assert redact(key).text == key
