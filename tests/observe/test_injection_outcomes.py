"""Whether an injected line was used, ignored or did harm, decided from the session's events."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.observe.telling import START, Teller, world
from wellkept.core.memory import Memory, MemoryDraft
from wellkept.core.ports.injections import InjectedLine, InjectionFilter, LineOutcome
from wellkept.core.session.events import ContextInjected, Event, ToolKind
from wellkept.core.session.hook_context import ContextLine
from wellkept.core.session.sessions import SessionRecord
from wellkept.core.types import MemoryType, Source
from wellkept.memory.edit import forget
from wellkept.memory.engine import Engine
from wellkept.memory.remember import remember
from wellkept.observe.ingest.ingest import EventIngester
from wellkept.testing.fakes import ManualClock

pytestmark = pytest.mark.feature("C11", "A12")

PROJECT = "git:example.org/shop"
USED, IGNORED, UNCLEAR, HARM, OPEN = (
    LineOutcome.USED,
    LineOutcome.IGNORED,
    LineOutcome.UNCLEAR,
    LineOutcome.HARM,
    LineOutcome.OPEN,
)
WAY_OUT = "Worked after the same error: `SHIP_REGION=eu-west make ship` (2026-03-01)."
LONG = "Login tokens expire silently whenever the refresh endpoint answers with status teapot"


class Session:
    """A session that was given some lines, told step by step."""

    def __init__(self, engine: Engine, name: str = "session-one") -> None:
        self.engine = engine
        self.say = Teller(name)
        self.ingester = EventIngester(engine, world())
        self.happened(self.say.start())

    def happened(self, *events: Event) -> None:
        self.ingester.commit(events, [])

    def given(
        self,
        *lines: ContextLine,
        moment: str = "session",
        trigger: str = "",
        agent: str | None = None,
    ) -> None:
        event = ContextInjected(
            origin=self.say.origin(agent=agent),
            project=PROJECT,
            moment=moment,
            trigger=trigger,
            tokens=40,
            lines=lines,
        )
        self.happened(event)

    def worked(self) -> None:
        """Work that has nothing to do with any line."""
        self.happened(*(self.say.run(f"echo {n}") for n in range(5)))

    @property
    def lines(self) -> list[InjectedLine]:
        where = InjectionFilter(session_id=self.say.session_id)
        return [line for one in self.engine.store.injections(where) for line in one.lines]

    @property
    def outcome(self) -> LineOutcome:
        return self.lines[0].outcome


@pytest.fixture
def session(engine: Engine) -> Session:
    return Session(engine)


def text(content: str) -> ContextLine:
    return ContextLine(f"- {content}", "left_off")


def known(
    engine: Engine,
    content: str,
    *,
    type: MemoryType = MemoryType.GOTCHA,
    source: Source = Source.OBSERVER_INFERRED,
    files: tuple[str, ...] = (),
    confidence: float = 0.7,
    work_tokens: int | None = None,
) -> Memory:
    draft = MemoryDraft(
        content=content,
        type=type,
        source=source,
        files=files,
        confidence=confidence,
        work_tokens=work_tokens,
    )
    return remember(engine, draft, project=PROJECT).memory


def line_of(memory: Memory, content: str | None = None) -> ContextLine:
    shown = f"- [WARN] {content or memory.content} [m:{memory.short}]"
    return ContextLine(shown, memory.type.value, memory.id, memory.id)


def stored(engine: Engine, memory: Memory) -> Memory:
    return engine.store.get([memory.id])[0]


# -- Used -----------------------------------------------------------------------------------------


def test_a_line_is_used_when_its_command_ran_and_worked(session: Session) -> None:
    session.given(text(WAY_OUT), moment="failure", trigger="make ship")
    session.happened(session.say.run("cd deploy && SHIP_REGION=eu-west make ship -j2", "done"))
    (line,) = session.lines
    assert (line.outcome, line.outcome_by) == (USED, "command SHIP_REGION=eu-west make ship")
    assert line.outcome_at is not None


@pytest.mark.parametrize(
    "command",
    ["make ship", "REGION=eu make shipping", "echo ship", "make"],
)
def test_another_command_is_no_use_of_it(session: Session, command: str) -> None:
    session.given(text(WAY_OUT), moment="failure", trigger="make ship")
    session.happened(session.say.run(command, "done"))
    assert session.outcome is OPEN


def test_a_placeholder_in_a_command_stands_for_any_word(session: Session) -> None:
    session.given(text("Worked in 3 sessions: `cd apps/api && npx jest --testPathPattern=X`"))
    session.happened(session.say.run("cd apps/api && npx jest --testPathPattern='shares'", "ok"))
    assert session.outcome is USED


def test_running_what_the_line_warns_of_is_no_use(session: Session) -> None:
    session.given(text("`pnpm --filter api test` runs nothing here and exits with 0."))
    session.happened(session.say.run("pnpm --filter api test", "No tests found"))
    assert session.outcome is OPEN


@pytest.mark.parametrize("path", ["/home/dev/shop/src/pay.py", "src/pay.py", r"C:\x\src\pay.py"])
def test_a_line_is_used_when_its_file_is_touched(
    engine: Engine, session: Session, path: str
) -> None:
    memory = known(engine, "The gateway times out", files=("src/pay.py",))
    session.given(line_of(memory))
    session.happened(session.say.edit(path, "a", "b"))
    assert session.lines[0].outcome_by == "file src/pay.py"


def test_the_file_that_asked_for_the_line_is_no_sign(engine: Engine, session: Session) -> None:
    memory = known(engine, "The gateway times out", files=("src/pay.py",))
    session.given(line_of(memory), moment="file", trigger="/home/dev/shop/src/pay.py")
    session.happened(session.say.edit("/home/dev/shop/src/pay.py", "a", "b"))
    assert session.outcome is OPEN


def test_a_file_that_could_not_be_read_is_no_sign(engine: Engine, session: Session) -> None:
    session.given(line_of(known(engine, "The gateway times out", files=("src/pay.py",))))
    call = session.say.call("Read", ToolKind.READ, files=("src/pay.py",), error="no such file")
    session.happened(call)
    assert session.outcome is OPEN


def test_a_line_is_used_when_the_agent_says_most_of_its_words(session: Session) -> None:
    session.given(text(LONG))
    session.happened(
        session.say.turn_end(
            "The tokens of the login expired silently: the refresh endpoint answered teapot status."
        )
    )
    assert session.outcome is USED


def test_a_few_shared_words_are_no_sign(session: Session) -> None:
    session.given(text(LONG))
    session.happened(session.say.turn_end("I added a login page with a status line."))
    assert session.outcome is OPEN


def test_words_that_the_prompt_said_are_no_sign(session: Session) -> None:
    session.given(text(LONG), moment="prompt", trigger=LONG)
    session.happened(session.say.turn_end(LONG))
    assert session.outcome is OPEN


def test_an_exact_name_in_an_edit_is_a_sign_unless_it_stood_there(session: Session) -> None:
    session.given(text("The host is set by PAYMENT_HOST_V2"))
    session.happened(session.say.edit("x.py", "PAYMENT_HOST_V2 = 1", "PAYMENT_HOST_V2 = 2"))
    assert session.outcome is OPEN
    session.happened(session.say.edit("x.py", "a = 1", "a = PAYMENT_HOST_V2"))
    assert session.outcome is USED


def test_a_citation_is_a_use(engine: Engine, session: Session) -> None:
    memory = known(engine, "Something else entirely")
    session.given(line_of(memory))
    session.happened(session.say.turn_end(f"Done, see [m:{memory.short}]."))
    assert session.lines[0].outcome_by == "cited"


def test_asking_for_the_memory_in_full_is_a_use(engine: Engine, session: Session) -> None:
    memory = known(engine, "Something else entirely")
    session.given(line_of(memory))
    session.happened(
        session.say.call("mcp__wellkept__get", ToolKind.MCP, input=f'{{"id": "m:{memory.short}"}}')
    )
    assert session.lines[0].outcome_by == "asked for in full"


def test_what_happened_before_the_line_was_given_does_not_count(
    engine: Engine, session: Session
) -> None:
    memory = known(engine, "The gateway times out", files=("src/pay.py",))
    early = session.say.edit("src/pay.py", "a", "b")
    session.given(line_of(memory))
    session.happened(early)
    assert session.outcome is OPEN


def test_a_line_of_a_sub_agent_is_used_by_that_agent_only(engine: Engine, session: Session) -> None:
    memory = known(engine, "The gateway times out", files=("src/pay.py",))
    session.given(line_of(memory), agent="a1")
    session.happened(session.say.read("src/pay.py"))
    assert session.outcome is OPEN
    session.happened(session.say.read("src/pay.py", agent="a1"))
    assert session.outcome is USED


# -- Left over ------------------------------------------------------------------------------------


def test_what_shows_no_sign_until_the_end_was_ignored(engine: Engine, session: Session) -> None:
    session.given(line_of(known(engine, "The gateway times out")))
    session.worked()
    assert session.outcome is OPEN
    session.happened(session.say.end())
    assert session.outcome is IGNORED


def test_a_session_that_did_nothing_decides_nothing(engine: Engine, session: Session) -> None:
    session.given(line_of(known(engine, "The gateway times out")))
    session.happened(session.say.end())
    assert session.outcome is UNCLEAR


@pytest.mark.parametrize(
    ("type", "source"),
    [
        (MemoryType.FACT, Source.USER_TAUGHT),
        (MemoryType.CONVENTION, Source.OBSERVER_INFERRED),
        (MemoryType.PREFERENCE, Source.AGENT_EXPLICIT),
    ],
)
def test_no_act_shows_that_a_rule_was_kept(
    engine: Engine, session: Session, type: MemoryType, source: Source
) -> None:
    session.given(line_of(known(engine, "Never push to main", type=type, source=source)))
    session.worked()
    session.happened(session.say.end())
    assert session.outcome is UNCLEAR


@pytest.mark.parametrize(
    ("command", "outcome"), [("npm run dev", IGNORED), ("cargo build --release", UNCLEAR)]
)
def test_a_command_is_ignored_only_where_the_like_of_it_was_run(
    session: Session, command: str, outcome: LineOutcome
) -> None:
    session.given(text("`DB_HOST=db.example npm run dev` (2 sessions, last 2026-02-14)"))
    session.worked()
    session.happened(session.say.run(command, "ready"), session.say.end())
    assert session.outcome is outcome


@pytest.mark.parametrize("name", ["apps/api", "gsd:plan-phase", "make"])
def test_folders_and_names_of_tools_are_no_exact_names(session: Session, name: str) -> None:
    session.given(text(f"Edited after the last commit: something in {name}"))
    session.happened(session.say.run(f"ls {name}", "ok"))
    assert session.outcome is OPEN


def test_the_words_of_a_command_line_are_no_prose(session: Session) -> None:
    session.given(text("`pnpm --filter @shop/crypto test` (2 sessions, last 2026-02-14)"))
    session.happened(session.say.turn_end("The pnpm filter of the shop crypto test sessions"))
    assert session.outcome is OPEN


def test_a_quiet_session_is_over_and_may_be_taken_up_again(
    engine: Engine, session: Session
) -> None:
    memory = known(engine, "The gateway times out", files=("src/pay.py",))
    session.given(line_of(memory))
    session.worked()
    found = engine.store.get_session("session-one")
    assert found is not None
    session.ingester.close_idle(found)
    assert session.outcome is IGNORED
    session.happened(session.say.read("src/pay.py"))
    assert session.outcome is USED


# -- Harm -----------------------------------------------------------------------------------------


def test_a_command_that_does_not_work_did_harm(engine: Engine, session: Session) -> None:
    memory = known(engine, WAY_OUT)
    session.given(line_of(memory), moment="failure", trigger="make ship")
    command = "SHIP_REGION=eu-west make ship"
    session.happened(session.say.run(command, error="Exit code 2\nno such region: eu-west"))
    assert session.lines[0].outcome_by == f"command failed: {command}"
    after = stored(engine, memory)
    assert after.needs_review
    assert after.confidence < memory.confidence
    (silent,) = engine.store.silent_lines(project=PROJECT)
    assert (silent.line_id, silent.reason) == (memory.id, f"harm: command failed: {command}")


def test_a_later_success_takes_the_harm_back(engine: Engine, session: Session) -> None:
    memory = known(engine, WAY_OUT)
    session.given(line_of(memory), moment="failure", trigger="make ship")
    command = "SHIP_REGION=eu-west make ship"
    session.happened(session.say.run(command, error="Exit code 2\nlogin first"))
    session.happened(session.say.run(command, "shipped"))
    assert session.outcome is USED
    assert engine.store.silent_lines(project=PROJECT) == []


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("npx jest", "Tests: 2 failed, 3 passed\n  ● suite › adds numbers"),
        ("npx eslint .", "3 problems (3 errors, 0 warnings)"),
        ("bun run test", "(fail) adds numbers\n 12 pass\n 1 fail"),
        ("make lint", "src/a.c:3: unused variable"),
        ("git push origin HEAD", "! [rejected] (non-fast-forward)"),
    ],
)
def test_failing_tests_checks_and_pushes_are_the_works_own(
    session: Session, command: str, output: str
) -> None:
    session.given(text(f"Works here: `{command}`"))
    session.happened(session.say.run(command, output, error=f"Exit code 1\n{output}"))
    assert session.outcome is USED


def test_a_test_command_that_runs_nothing_did_harm(session: Session) -> None:
    session.given(text("Works here: `pnpm --filter api test -- shares`"))
    session.happened(
        session.say.run("pnpm --filter api test -- shares", "No tests found, exiting with code 0")
    )
    assert session.outcome is HARM


def test_a_call_that_a_person_stopped_says_nothing(session: Session) -> None:
    session.given(text(WAY_OUT))
    stopped = "The user doesn't want to proceed with this tool use."
    session.happened(session.say.run("SHIP_REGION=eu-west make ship", error=stopped))
    assert session.outcome is OPEN


@pytest.mark.parametrize(
    "objection",
    [
        "No, the refresh endpoint never answers teapot.",
        "that's wrong, login tokens do not expire silently",
        "Nein, die login tokens expire nicht am refresh endpoint",
        "non, le refresh endpoint ne donne pas de login tokens",
    ],
)
def test_a_line_that_the_user_contradicts_did_harm(
    engine: Engine, session: Session, objection: str
) -> None:
    memory = known(engine, LONG)
    session.given(line_of(memory))
    session.happened(session.say.prompt(objection))
    assert session.outcome is HARM
    assert stored(engine, memory).needs_review


@pytest.mark.parametrize(
    "prompt",
    [
        "Why do login tokens expire at the refresh endpoint?",
        "No, use tabs.",
        "login tokens expire silently, no?",
    ],
)
def test_other_prompts_contradict_nothing(session: Session, prompt: str) -> None:
    session.given(text(LONG))
    session.happened(session.say.prompt(prompt))
    assert session.outcome is OPEN


def test_a_memory_closed_in_the_session_did_harm(engine: Engine, session: Session) -> None:
    memory = known(engine, "The gateway times out")
    session.given(line_of(memory))
    assert isinstance(engine.clock, ManualClock)
    engine.clock.advance(seconds=60)
    forget(engine, [memory.id], keep_history=True)
    session.worked()
    assert session.lines[0].outcome_by == "corrected in this session"


def test_work_that_is_done_is_no_correction(engine: Engine, session: Session) -> None:
    memory = known(engine, "Unfinished: the gateway", type=MemoryType.WORK_STATE)
    session.given(line_of(memory))
    assert isinstance(engine.clock, ManualClock)
    engine.clock.advance(seconds=60)
    forget(engine, [memory.id], keep_history=True)
    session.worked()
    assert session.outcome is OPEN


def test_a_persons_word_is_not_taken_back_because_a_command_failed(
    engine: Engine, session: Session
) -> None:
    rule = known(engine, "Always run `npm ci --ignore-scripts` first", source=Source.USER_TAUGHT)
    session.given(line_of(rule))
    session.happened(session.say.run("npm ci --ignore-scripts", error="Exit code 1\nENOTFOUND"))
    assert session.outcome is HARM
    assert not stored(engine, rule).needs_review
    assert engine.store.silent_lines(project=PROJECT) == []


# -- What follows ---------------------------------------------------------------------------------


def test_a_use_counts_once_a_session_and_raises_confidence_a_little(engine: Engine) -> None:
    memory = known(engine, "The gateway times out", files=("src/pay.py",), work_tokens=900)
    for name in ("one-1", "two-2"):
        session = Session(engine, name)
        session.given(line_of(memory))
        session.given(line_of(memory), moment="prompt", trigger="pay")
        session.happened(session.say.read("src/pay.py"), session.say.read("src/pay.py"))
        session.happened(session.say.end())
    after = stored(engine, memory)
    assert after.access_count == memory.access_count + 2
    assert memory.confidence < after.confidence < memory.confidence + 0.06
    assert after.updated_at == memory.updated_at
    (use,) = engine.store.line_uses(project=PROJECT)
    assert (use.given, use.sessions, use.used) == (4, 2, 2)
    assert use.saved_tokens == 1800 - use.tokens


def ignored_by(engine: Engine, memory: Memory, sessions: range) -> None:
    for number in sessions:
        session = Session(engine, f"session-{number}")
        session.given(line_of(memory))
        session.worked()
        session.happened(session.say.end())


def test_a_line_ignored_in_five_sessions_goes_silent(engine: Engine) -> None:
    memory = known(engine, "The gateway times out")
    ignored_by(engine, memory, range(4))
    assert engine.store.silent_lines(project=PROJECT) == []
    ignored_by(engine, memory, range(4, 5))
    (silent,) = engine.store.silent_lines(project=PROJECT)
    assert (silent.line_id, silent.reason) == (memory.id, "ignored in 5 sessions")
    assert stored(engine, memory).confidence == memory.confidence


def test_a_use_between_breaks_the_row(engine: Engine) -> None:
    memory = known(engine, "The gateway times out", files=("src/pay.py",))
    ignored_by(engine, memory, range(4))
    session = Session(engine, "used-it")
    session.given(line_of(memory))
    session.happened(session.say.read("src/pay.py"), session.say.end())
    ignored_by(engine, memory, range(5, 9))
    assert engine.store.silent_lines(project=PROJECT) == []


def test_what_a_person_taught_is_never_silenced_for_lack_of_signs(engine: Engine) -> None:
    rule = known(engine, "Never push to main", source=Source.USER_TAUGHT)
    ignored_by(engine, rule, range(7))
    assert engine.store.silent_lines(project=PROJECT) == []


def test_draining_again_changes_nothing(engine: Engine, session: Session) -> None:
    memory = known(engine, "The gateway times out", files=("src/pay.py",))
    session.given(line_of(memory))
    read, end = session.say.read("src/pay.py"), session.say.end()
    session.happened(read, end)
    before = session.lines, stored(engine, memory)
    session.happened(read, end)
    assert (session.lines, stored(engine, memory)) == before


def test_a_session_without_injections_costs_no_change(engine: Engine, session: Session) -> None:
    session.worked()
    found = engine.store.get_session("session-one")
    assert isinstance(found, SessionRecord)
    assert found.last_event_at < START + timedelta(hours=1)
    assert session.lines == []
