"""Context for a client: given by the hook itself, or by a live process that it asks."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from tests.clients.hooking import Machine
from tests.support.samples import START
from wellkept.api.hook_context import HookContextProvider, open_existing
from wellkept.clients.answers import protocol
from wellkept.clients.answers.injection_spool import ShownItems
from wellkept.clients.answers.protocol import SOCKET_NAME, NoServerError, ask
from wellkept.clients.answers.responder import HookResponder
from wellkept.clients.answers.server import LOCK_NAME, AnswerServer, Respond
from wellkept.store.sqlite.database import Database
from wellkept.store.sqlite.migrations import STEPS, migrate

pytestmark = [
    pytest.mark.feature("C4", "B9"),
    pytest.mark.skipif(os.name != "posix", reason="processes and sockets of POSIX systems"),
]

RULE = "Deploys go through the staging cluster first"
TRAP = "The payment gateway times out after three retries"


@pytest.fixture
def known(machine: Machine) -> Machine:
    """A machine where something was kept."""
    machine.remember(RULE, type="convention")
    machine.remember(TRAP, type="gotcha", files=("src/pay.py",))
    (machine.project / "src").mkdir()
    (machine.project / "src" / "pay.py").write_text("pass")
    return machine


def step_back(path: Path) -> None:
    """Turn a database into what a Wellkept of one schema step earlier would have left."""
    newer = path.rename(path.with_name("newer.db"))
    older = Database(path, busy_timeout_ms=1_000)
    migrate(older, clock=lambda: START, steps=STEPS[:-1])
    older.close()
    with closing(sqlite3.connect(path)) as db:
        db.execute("ATTACH ? AS newer", (str(newer),))
        for table, now in {
            "memories": "memories",
            "labels": "labels",
            "shelf": "key_values",
        }.items():
            names = [row[1] for row in db.execute(f"PRAGMA main.table_info ({table})")]
            columns = ", ".join(names)
            db.execute(f"INSERT INTO {table} ({columns}) SELECT {columns} FROM newer.{now}")
        for index in ("words", "fragments"):
            db.execute(f"INSERT INTO {index} ({index}) VALUES ('rebuild')")
        db.commit()
    newer.unlink()


def memory_answers(machine: Machine) -> HookResponder:
    context = HookContextProvider(
        lambda folder: open_existing(folder, environment=machine.environment, busy_timeout_ms=1_000)
    )
    return HookResponder(context, shown=ShownItems(machine.home))


@pytest.fixture
def live(known: Machine) -> Iterator[Machine]:
    """The same machine with a process that answers."""
    with AnswerServer(known.home, memory_answers(known)) as server:
        assert server.wait_until_serving(20)
        yield known


def always(raw: bytes) -> Respond:
    return lambda client, event, payload: raw


def start_session(machine: Machine, *, session: str = "s-1") -> str:
    payload = machine.payload(session=session, source="startup")
    answered = machine.hook("claude-code", "SessionStart", "both", payload=payload)
    assert (answered.code, answered.errors) == (0, "")
    return answered.context


def prompt(machine: Machine, text: str, *, session: str = "s-1") -> str:
    payload = machine.payload(session=session, prompt=text)
    answered = machine.hook("claude-code", "UserPromptSubmit", "both", payload=payload)
    assert (answered.code, answered.errors) == (0, "")
    return answered.context


class TestAlone:
    def test_a_session_starts_with_what_stands(self, known: Machine) -> None:
        text = start_session(known)
        assert RULE in text
        assert text.startswith("<wellkept-memory>")
        assert text.endswith("</wellkept-memory>")

    def test_a_prompt_is_answered_by_its_words(self, known: Machine) -> None:
        assert RULE in prompt(known, "how do we deploy to the staging cluster?")
        assert prompt(known, "zebra xylophone", session="other") == ""

    def test_a_file_brings_its_warnings(self, known: Machine) -> None:
        payload = known.payload(
            tool_name="Read",
            tool_input={"file_path": str(known.project / "src/pay.py")},
            tool_response={"file": {"content": "pass"}},
        )
        answered = known.hook("claude-code", "PostToolUse", "answer", payload=payload)
        assert TRAP in answered.context

    def test_a_failure_brings_the_known_trouble(self, known: Machine) -> None:
        payload = known.payload(
            tool_name="Bash",
            tool_input={"command": "make pay"},
            error="Exit code 1\npayment gateway times out after retries",
        )
        answered = known.hook("claude-code", "PostToolUseFailure", "both", payload=payload)
        assert TRAP in answered.context

    def test_nothing_is_said_twice_in_a_session(self, known: Machine) -> None:
        assert RULE in start_session(known)
        assert RULE not in prompt(known, "how do we deploy to the staging cluster?")
        assert RULE in prompt(known, "how do we deploy to the staging cluster?", session="s-2")

    def test_after_compaction_everything_may_be_said_again(self, known: Machine) -> None:
        assert RULE in start_session(known)
        payload = known.payload(source="resume")
        resumed = known.hook("claude-code", "SessionStart", "both", payload=payload)
        assert resumed.context == ""
        payload = known.payload(source="compact")
        again = known.hook("claude-code", "SessionStart", "both", payload=payload)
        assert RULE in again.context

    def test_the_second_answer_comes_from_bundled_code_and_is_the_same(
        self, known: Machine
    ) -> None:
        first = start_session(known, session="a")
        assert (known.home / "answer.bundle").stat().st_mode & 0o077 == 0
        assert start_session(known, session="b") == first

    @pytest.mark.parametrize("raw", [b"", b"junk", b"\0" * 5_000])
    def test_a_damaged_bundle_is_passed_over(self, known: Machine, raw: bytes) -> None:
        first = start_session(known, session="a")
        (known.home / "answer.bundle").write_bytes(raw)
        assert start_session(known, session="b") == first

    def test_the_answer_is_what_the_library_gives(self, known: Machine) -> None:
        payload = known.payload(source="startup")
        here = memory_answers(known)("claude-code", "SessionStart", payload)
        ShownItems(known.home).forget("claude-code", "s-1")
        assert known.hook("claude-code", "SessionStart", "answer", payload=payload).out == here


class TestNothingToSay:
    def test_without_a_database_there_is_no_answer_and_none_is_made(self, machine: Machine) -> None:
        assert start_session(machine) == ""
        assert not (machine.home / "memory.db").exists()
        assert len(machine.caught()) == 1

    def test_a_corrupt_database_is_passed_over(self, known: Machine) -> None:
        (known.home / "memory.db").write_bytes(b"this is no database at all" * 500)
        assert start_session(known) == ""
        assert len(known.caught()) == 1

    def test_an_empty_database_file_is_passed_over(self, machine: Machine) -> None:
        machine.home.mkdir()
        (machine.home / "memory.db").touch()
        assert start_session(machine) == ""

    def test_a_database_of_somebody_else_is_passed_over(self, machine: Machine) -> None:
        machine.home.mkdir()
        with closing(sqlite3.connect(machine.home / "memory.db")) as db:
            db.execute("CREATE TABLE theirs (x)")
        assert start_session(machine) == ""

    def test_a_locked_database_is_still_read(self, known: Machine) -> None:
        with closing(sqlite3.connect(known.home / "memory.db")) as db:
            db.execute("BEGIN IMMEDIATE")
            assert RULE in start_session(known)

    def test_a_database_locked_for_everybody_is_passed_over(self, known: Machine) -> None:
        with closing(sqlite3.connect(known.home / "memory.db")) as db:
            db.execute("PRAGMA locking_mode = EXCLUSIVE")
            db.execute("BEGIN EXCLUSIVE")
            assert start_session(known) == ""
            db.execute("ROLLBACK")

    @pytest.mark.feature("C4", "A1")
    def test_a_database_of_an_older_schema_is_left_to_the_library_which_migrates_it(
        self, known: Machine
    ) -> None:
        step_back(known.home / "memory.db")
        before = (known.home / "memory.db").read_bytes()
        assert start_session(known, session="before") == ""
        assert (known.home / "memory.db").read_bytes() == before
        assert not list(known.home.glob("*before*"))
        with known.memory() as memory:
            assert [hit.memory.content for hit in memory.recall("staging cluster")] == [RULE]
        assert list(known.home.glob("memory.db.before-v*"))
        assert RULE in start_session(known, session="after")

    def test_asking_writes_nothing_into_the_database(self, known: Machine) -> None:
        before = (known.home / "memory.db").read_bytes()
        assert RULE in start_session(known)
        assert (known.home / "memory.db").read_bytes() == before

    def test_a_broken_settings_file_is_passed_over(self, known: Machine) -> None:
        (known.home / "config.toml").write_text("this is [not toml")
        assert start_session(known) == ""

    def test_a_file_outside_the_project_brings_nothing(self, known: Machine) -> None:
        payload = known.payload(tool_name="Read", tool_input={"file_path": "/etc/hosts"})
        assert known.hook("claude-code", "PostToolUse", "answer", payload=payload).is_silent

    def test_an_unknown_client_gets_nothing(self, known: Machine) -> None:
        payload = known.payload(source="startup")
        assert known.hook("nobody", "SessionStart", "both", payload=payload).is_silent

    def test_an_event_that_takes_no_context_gets_nothing(self, known: Machine) -> None:
        payload = known.payload(reason="other")
        assert known.hook("claude-code", "SessionEnd", "both", payload=payload).is_silent


class TestAsked:
    def test_a_live_process_gives_the_same_answer(self, live: Machine) -> None:
        asked = start_session(live, session="a")
        assert RULE in asked
        assert not (live.home / "answer.bundle").exists()

    def test_what_one_process_said_the_other_does_not_repeat(self, known: Machine) -> None:
        with AnswerServer(known.home, memory_answers(known)) as server:
            assert server.wait_until_serving(20)
            assert RULE in start_session(known)
        assert RULE not in prompt(known, "how do we deploy to the staging cluster?")

    def test_many_hooks_at_once_are_all_answered(self, live: Machine) -> None:
        with ThreadPoolExecutor(8) as clients:
            asked = [clients.submit(start_session, live, session=f"t{n}") for n in range(8)]
            texts = [one.result() for one in asked]
        assert [RULE in text for text in texts] == [True] * 8

    def test_a_socket_left_by_the_dead_is_passed_over(self, known: Machine) -> None:
        script = (
            "import os, sys\n"
            "from pathlib import Path\n"
            "from wellkept.clients.answers.server import AnswerServer\n"
            "server = AnswerServer(Path(sys.argv[1]), lambda *_: b'from the dead')\n"
            "server.start()\n"
            "assert server.wait_until_serving(20)\n"
            "os.kill(os.getpid(), 9)\n"
        )
        done = subprocess.run([sys.executable, "-c", script, str(known.home)], check=False)
        assert done.returncode == -signal.SIGKILL
        assert (known.home / SOCKET_NAME).exists()
        assert RULE in start_session(known)
        with AnswerServer(known.home, always(b"alive")) as server:
            assert server.wait_until_serving(20)
            assert known.hook("claude-code", "SessionStart", "answer").out == b"alive"

    def test_another_process_takes_over_when_the_first_goes(self, machine: Machine) -> None:
        first = AnswerServer(machine.home, always(b"first"))
        first.start()
        assert first.wait_until_serving(20)
        with AnswerServer(machine.home, always(b"second")) as second:
            assert machine.hook("claude-code", "SessionStart", "answer").out == b"first"
            assert not second.wait_until_serving(0)
            first.stop()
            assert second.wait_until_serving(20)
            assert machine.hook("claude-code", "SessionStart", "answer").out == b"second"

    def test_a_process_that_hangs_is_not_waited_for_and_the_hook_answers_itself(
        self, known: Machine
    ) -> None:
        let_go = threading.Event()

        def slow(client: str, event: str, payload: bytes) -> bytes:
            let_go.wait(60)
            return b"too late"

        # Of these the process gets a fifth; a loaded machine needs the rest for its own answer.
        patient = replace(known, extra={"WELLKEPT_HOOK_TIMEOUT_MS": "20000"})
        with AnswerServer(known.home, slow) as server:
            assert server.wait_until_serving(20)
            assert RULE in start_session(patient)
            let_go.set()

    def test_an_answer_that_takes_too_long_is_not_given(self, known: Machine) -> None:
        hurried = replace(known, extra={"WELLKEPT_HOOK_TIMEOUT_MS": "1"})
        payload = known.payload(source="startup")
        assert hurried.hook("claude-code", "SessionStart", "both", payload=payload).is_silent
        assert len(known.caught()) == 1

    @pytest.mark.parametrize("odd", ["", "0", "soon", "-5", "1e3"])
    def test_a_time_limit_that_makes_no_sense_is_passed_over(self, live: Machine, odd: str) -> None:
        unsure = replace(live, extra={"WELLKEPT_HOOK_TIMEOUT_MS": odd})
        answered = unsure.hook("claude-code", "SessionStart", "answer", payload=live.payload())
        assert (answered.code, answered.errors) == (0, "")

    def test_a_process_that_talks_nonsense_is_passed_over(self, known: Machine) -> None:
        with answering_raw(known.home, b"HTTP/1.1 200 OK\r\n\r\nhello"):
            assert RULE in start_session(known)

    def test_a_home_with_a_very_long_path_is_served(self, tmp_path: Path) -> None:
        project = tmp_path / "p"
        project.mkdir()
        far = Machine(tmp_path / ("deep" * 20) / ("er" * 40), project)
        with AnswerServer(far.home, always(b"reached")) as server:
            assert server.wait_until_serving(20)
            assert far.hook("claude-code", "SessionStart", "answer").out == b"reached"

    def test_only_the_owner_can_reach_the_socket(self, live: Machine) -> None:
        names = (SOCKET_NAME, LOCK_NAME)
        assert [(live.home / name).stat().st_mode & 0o077 for name in names] == [0, 0]

    def test_a_stopped_server_leaves_no_socket(self, machine: Machine) -> None:
        with AnswerServer(machine.home, always(b"")) as server:
            assert server.wait_until_serving(20)
        assert not (machine.home / SOCKET_NAME).exists()


class answering_raw:  # noqa: N801 - reads as a statement
    """A listener that answers whatever it is asked with the same bytes."""

    def __init__(self, state: Path, raw: bytes) -> None:
        import socket

        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        with protocol.SocketAddress(str(state)) as address:
            self._listener.bind(address)
        self._listener.listen(8)
        self._raw = raw
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        try:
            while True:
                line, _ = self._listener.accept()
                with line:
                    line.recv(1 << 16)
                    line.sendall(self._raw)
        except OSError:
            return

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        import socket

        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join()


class TestProtocol:
    @pytest.fixture
    def state(self, tmp_path: Path) -> Path:
        folder = tmp_path / "s"
        folder.mkdir()
        return folder

    def asked(self, state: Path, *, payload: bytes = b"{}", timeout_s: float = 5.0) -> bytes:
        return ask(str(state), client="c", event="E", payload=payload, timeout_s=timeout_s)

    @pytest.mark.parametrize("size", [0, 1, 70_000, 3_000_000])
    def test_question_and_answer_arrive_whole(self, state: Path, size: int) -> None:
        def echo(client: str, event: str, payload: bytes) -> bytes:
            return b"%b %b %b" % (client.encode(), event.encode(), payload[:100_000])

        with AnswerServer(state, echo) as server:
            assert server.wait_until_serving(20)
            payload = os.urandom(size)
            assert self.asked(state, payload=payload) == b"c E " + payload[:100_000]

    def test_nobody_there_is_said_at_once(self, state: Path) -> None:
        with pytest.raises(NoServerError):
            self.asked(state)
        with pytest.raises(NoServerError):
            self.asked(state / "no such folder")

    def test_a_payload_too_large_to_ask_with_is_not_sent(self, state: Path) -> None:
        with pytest.raises(NoServerError):
            self.asked(state, payload=bytes(protocol.MAX_PAYLOAD_BYTES + 1))

    @pytest.mark.parametrize(
        "raw",
        [b"A2 2\nhi", b"A1 x\n", b"A1 99\nhi", b"", b"A1 -2\nhi", b"x" * 400, b"A1 9999999999\n"],
        ids=str,
    )
    def test_answers_of_another_kind_are_refused(self, state: Path, raw: bytes) -> None:
        with answering_raw(state, raw), pytest.raises(NoServerError):
            self.asked(state)

    @pytest.mark.parametrize(
        "head",
        [b"", b"\n", b"Q2 c E 5 0\n", b"Q1 c E 5\n", b"Q1 c E 5 99999999999\n", b"Q1 c E x 1\n"],
    )
    def test_questions_of_another_kind_are_refused(self, head: bytes) -> None:
        with pytest.raises(protocol.ProtocolError):
            protocol.parse_request_header(head)

    def test_an_error_while_answering_ends_the_talk_and_is_told(self, state: Path) -> None:
        from wellkept.core.errors import StoreError, WellkeptError

        def failing(client: str, event: str, payload: bytes) -> bytes:
            raise StoreError("The disk is on fire.")

        told: list[WellkeptError] = []
        note: Callable[[WellkeptError], None] = told.append
        with AnswerServer(state, failing, on_error=note) as server:
            assert server.wait_until_serving(20)
            with pytest.raises(NoServerError):
                self.asked(state)
        assert [str(error) for error in told] == ["The disk is on fire."]
