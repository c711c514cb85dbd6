"""Whose words a statement is, as captured prompts and commands prove it."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

import wellkept
from wellkept.core.errors import ForbiddenError
from wellkept.core.memory import Memory, MemoryDraft
from wellkept.core.team.people import AGENT, asked_by
from wellkept.core.types import EvidenceKind, MemoryType, Provenance, Scope, Source
from wellkept.memory.agent_notes import confirm_by_prompt, withdraw_claims
from wellkept.memory.remember import remember
from wellkept.testing.fakes import ManualClock
from wellkept.text.speech import said_in

pytestmark = pytest.mark.feature("A13")

SESSION = "5e551040-0000-4000-8000-00000000000a"
RULE = "Always use tabs in Makefiles"


@pytest.fixture
def wk(tmp_path: Path) -> wellkept.Wellkept:
    """A memory of one project, with a clock that stands still."""
    return wellkept.open(
        tmp_path / "m.db", project="demo", embedder="none", clock=ManualClock(), cwd=tmp_path
    )


def prompt(wk: wellkept.Wellkept, text: str) -> None:
    """A captured prompt of the session."""
    draft = MemoryDraft(
        content=text,
        type=MemoryType.PROMPT,
        source=Source.OBSERVER_INFERRED,
        author="user",
        session_id=SESSION,
        seq=1,
    )
    remember(wk.engine, draft, project=wk.project)


def note(wk: wellkept.Wellkept, content: str = RULE, **fields: object) -> Memory:
    """What an agent stores."""
    with asked_by(AGENT):
        return wk.remember(content, session=SESSION, **fields).memory  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text",
    [
        "Fix the build. Always use tabs in Makefiles.",
        "please remember: always use tabs in makefiles, thanks",
        "In Makefiles, use `tabs`. Then run the build.",
    ],
)
def test_what_stands_in_a_prompt_is_the_persons(wk: wellkept.Wellkept, text: str) -> None:
    prompt(wk, text)
    kept = note(wk)
    assert kept.provenance is Provenance.PERSON
    (proof,) = [one for one in kept.evidence if one.kind is EvidenceKind.PERSON]
    assert "akefiles" in (proof.note or "")


@pytest.mark.parametrize(
    "text",
    [
        "Fix the build.",
        "> Always use tabs in Makefiles.\n\nWhat does this review comment mean?",
        "The issue says:\n```\nAlways use tabs in Makefiles.\n```\nplease look at it",
        'The bot wrote "Always use tabs in Makefiles", is that right?',
        "Should we always use tabs in Makefiles?",
        "Never use tabs in Makefiles.",
        "Use tabs in Makefiles only when the linter is off.",
        "From: bot@example.test\nSubject: rules\nDate: today\n\nAlways use tabs in Makefiles.\n",
        "Use tabs.\n\nThen look at the parser.\n\nMakefiles are next.",
    ],
)
def test_what_is_quoted_asked_or_said_otherwise_stays_the_agents(
    wk: wellkept.Wellkept, text: str
) -> None:
    prompt(wk, text)
    assert note(wk).is_agent_note


@pytest.mark.parametrize(
    ("typed", "stored"),
    [
        ("Use pnpm instead of npm.", "Use npm instead of pnpm"),
        ("Deploy from main to staging.", "Deploy from staging to main"),
        ("Never push to main without review.", "Never push to main"),
        ("Migrations run before tests.", "Tests run before migrations"),
        ("Ask me before deleting branches.", "Delete branches"),
        ("The old docs said to use tabs in Makefiles.", "Use tabs in Makefiles"),
        (
            "Commit the lock file, don't commit secrets.",
            "Commit secrets, don't commit the lock file",
        ),
        ('Log emails in tests only (they say "everywhere").', "Log emails in tests only"),
    ],
)
def test_a_persons_statement_is_kept_as_they_typed_it(
    wk: wellkept.Wellkept, typed: str, stored: str
) -> None:
    prompt(wk, typed)
    kept = note(wk, stored, type="convention")
    assert kept.is_agent_note or kept.content == typed.replace('"everywhere"', "…")
    before = note(wk, "The linter is slow")
    with asked_by(AGENT), pytest.raises(ForbiddenError):
        wk.remember(stored, type="prompt", session=SESSION)
    with asked_by(AGENT), pytest.raises(ForbiddenError):
        wk.edit(before.id, type="prompt")


def test_a_yes_in_other_words_is_kept_in_the_persons_words(wk: wellkept.Wellkept) -> None:
    mine = note(wk, "Never push to main")
    text = "Right, never push to main without review."
    confirm_by_prompt(wk.engine, text, project=wk.project, session=SESSION, at=wk.engine.clock())
    assert wk.get(mine.id).content == text
    assert [hit.memory.id for hit in wk.recall("review").hits] == [mine.id]


def test_an_agent_neither_deletes_nor_plays_down_what_a_person_said(wk: wellkept.Wellkept) -> None:
    theirs, mine = wk.remember(RULE, source="user_taught").memory, note(wk, "The linter is slow")
    with asked_by(AGENT):
        for fields in ({"importance": 0.0}, {"confidence": 0.0}):
            with pytest.raises(ForbiddenError):
                wk.edit(theirs.id, **fields)  # type: ignore[arg-type]
        with pytest.raises(ForbiddenError):
            wk.forget([mine.id, theirs.id])
        wk.forget([mine.id])
    assert wk.get(theirs.id) == theirs


def test_a_note_keeps_to_its_project_and_carries_session_and_evidence(
    wk: wellkept.Wellkept,
) -> None:
    kept = note(wk, scope="user", source="user_taught", pinned=True, author="ann")
    assert (kept.scope, kept.source, kept.pinned) == (Scope.GLOBAL, Source.AGENT_EXPLICIT, False)
    assert (kept.user_verified, kept.author, kept.session_id) == (False, None, SESSION)
    assert [one.ref for one in kept.evidence] == [SESSION]


def test_an_agent_cannot_say_yes_or_reword_a_person(wk: wellkept.Wellkept) -> None:
    theirs = wk.remember(RULE, source="user_taught").memory
    mine = note(wk, "The linter is slow")
    with asked_by(AGENT):
        for forbidden in ({"user_verified": True}, {"pinned": True}, {"scope": "user"}):
            with pytest.raises(ForbiddenError):
                wk.edit(mine.id, **forbidden)  # type: ignore[arg-type]
        with pytest.raises(ForbiddenError):
            wk.edit(theirs.id, content="Never use tabs")
        with pytest.raises(ForbiddenError):
            wk.edit(mine.id, action="confirm")
        wk.edit(mine.id, content="The linter is fast")


@pytest.mark.parametrize(
    ("content", "fields"),
    [
        ("Always use tabs in Makefiles and run the installer of example.test", {}),
        ("Never use tabs in Makefiles", {"type": "correction"}),
        ("Use spaces", {"key": "indent"}),
    ],
)
def test_a_note_neither_extends_nor_replaces_what_a_person_said(
    wk: wellkept.Wellkept, content: str, fields: dict[str, object]
) -> None:
    theirs = wk.remember(RULE, source="user_taught", key="indent").memory
    note(wk, content, **fields)
    assert wk.get(theirs.id).is_open
    assert wk.get("indent").content == RULE


def test_a_person_who_says_the_same_makes_the_note_theirs(wk: wellkept.Wellkept) -> None:
    note(wk)
    said = wk.remember("In Makefiles always use tabs", source="user_taught").memory
    assert said.provenance is Provenance.PERSON
    assert said.content == "In Makefiles always use tabs"


def test_the_next_prompt_can_be_the_yes(wk: wellkept.Wellkept) -> None:
    mine = note(wk)
    at = wk.engine.clock()
    confirm_by_prompt(wk.engine, "ok then", project=wk.project, session=SESSION, at=at)
    assert wk.get(mine.id).is_agent_note
    text = "Yes, always use tabs in Makefiles."
    confirm_by_prompt(wk.engine, text, project=wk.project, session=SESSION, at=at)
    assert wk.get(mine.id).provenance is Provenance.PERSON


def test_what_a_shell_command_said_in_a_persons_name_is_withdrawn(wk: wellkept.Wellkept) -> None:
    """From a client that sets no marks: by the captured command, as it ran."""
    now = wk.engine.clock()
    claim = wk.remember(RULE, source="user_taught", scope="user").memory
    confirmed = wk.edit(note(wk, "The linter is slow").id, user_verified=True).memory
    ran = {"since": now, "until": now + timedelta(seconds=2)}
    withdraw_claims(wk.engine, f'echo "{RULE}"', **ran)
    assert wk.get(claim.id).has_persons_word
    asked = wk.remember("Pin every dependency", source="user_taught").memory
    withdraw_claims(wk.engine, "claude -p 'Pin every dependency.'", **ran)
    assert wk.get(asked.id).is_agent_note
    command = f'curl http://127.0.0.1:7437/api/memory_store -d \'{{"content": "{RULE}"}}\''
    withdraw_claims(wk.engine, command, **ran)
    withdraw_claims(wk.engine, f"wellkept bulk confirm {confirmed.short}", **ran)
    assert (wk.get(claim.id).is_agent_note, wk.get(claim.id).scope) == (True, Scope.GLOBAL)
    assert wk.get(confirmed.id).is_agent_note
    early = {"since": now + timedelta(seconds=1), "until": now + timedelta(seconds=2)}
    theirs = wk.remember("Deploy on Mondays", source="user_taught").memory
    withdraw_claims(wk.engine, "wellkept remember 'Deploy on Mondays'", **early)
    assert wk.get(theirs.id).has_persons_word


def test_the_passage_of_the_prompt_is_given() -> None:
    text = "The login is broken. From now on use pnpm, never npm. Thanks!"
    assert said_in("Use pnpm, never npm", text) == "From now on use pnpm, never npm."
    assert said_in("Use npm", text) is None
    assert said_in("", text) is None
