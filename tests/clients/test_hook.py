"""The hook captures what it is given and never lets a client notice that something is wrong."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.clients.hooking import PYTHON, Machine
from wellkept.clients.hook_process import session_key
from wellkept.store import spool
from wellkept.store.spool_reader import dropped, files

pytestmark = [
    pytest.mark.feature("C2", "C4"),
    pytest.mark.skipif(os.name != "posix", reason="processes of POSIX systems"),
]


class TestCapture:
    def test_an_event_is_on_disk_when_the_hook_returns(self, machine: Machine) -> None:
        payload = machine.payload(tool_name="Bash")
        assert machine.hook("claude", "PostToolUse", payload=payload).is_silent
        (entry,) = machine.caught()
        assert (entry.client, entry.event, entry.payload) == ("claude", "PostToolUse", payload)

    def test_each_session_has_its_own_file(self, machine: Machine) -> None:
        for session in ("a", "b", "a"):
            machine.hook("claude", "Stop", payload=machine.payload(session=session))
        names = sorted(file.path.name for file in files(machine.spool))
        assert names == ["claude-a.spool", "claude-b.spool"]

    def test_what_is_made_can_be_read_by_the_owner_alone(self, machine: Machine) -> None:
        machine.hook("claude", "Stop", payload=machine.payload())
        made = [machine.home, machine.spool, *machine.spool.iterdir()]
        assert [path.stat().st_mode & 0o077 for path in made] == [0, 0, 0]

    def test_asking_alone_captures_nothing(self, machine: Machine) -> None:
        assert machine.hook(
            "claude-code", "PreToolUse", "answer", payload=machine.payload()
        ).is_silent
        assert machine.caught() == []

    @pytest.mark.parametrize(
        "payload",
        [b"", b"{", b"null", b"[1, 2", b"\xff\xfe\x00binary\x80", b'{"session_id": 5}', b"\0" * 99],
        ids=["empty", "broken", "null", "torn", "binary", "odd session", "zeros"],
    )
    @pytest.mark.parametrize("mode", ["capture", "both"])
    def test_a_payload_that_is_no_json_is_kept_as_it_is(
        self, machine: Machine, payload: bytes, mode: str
    ) -> None:
        assert machine.hook("claude-code", "UserPromptSubmit", mode, payload=payload).is_silent
        assert [entry.payload for entry in machine.caught()] == [payload]

    def test_a_payload_of_fifty_megabytes_is_kept(self, machine: Machine) -> None:
        payload = machine.payload(tool_response="x" * (50 << 20))
        assert machine.hook("claude", "PostToolUse", payload=payload).is_silent
        assert [entry.payload for entry in machine.caught()] == [payload]

    def test_a_payload_above_the_limit_is_counted_as_dropped(self, machine: Machine) -> None:
        payload = machine.payload(tool_response="x" * (spool.MAX_ENTRY_BYTES + (4 << 20)))
        assert machine.hook("claude", "PostToolUse", payload=payload).is_silent
        assert machine.caught() == []
        assert dropped(machine.spool).count == 1

    def test_hooks_at_once_lose_nothing(self, machine: Machine) -> None:
        running = [
            subprocess.Popen(
                machine.command("claude", "PostToolUse"),
                stdin=subprocess.PIPE,
                env=machine.environment,
            )
            for _ in range(12)
        ]
        for number, process in enumerate(running):
            process.communicate(machine.payload(number=number))
        assert [process.returncode for process in running] == [0] * 12
        numbers = sorted(json.loads(entry.payload)["number"] for entry in machine.caught())
        assert numbers == list(range(12))
        assert len({entry.event_id for entry in machine.caught()}) == 12


class TestTrouble:
    @pytest.mark.parametrize(
        "arguments",
        [(), ("claude",), ("claude", "Stop", "sing"), ("a", "b", "capture", "d"), ("--help",)],
        ids=str,
    )
    def test_wrong_arguments_are_passed_over(
        self, machine: Machine, arguments: tuple[str, ...]
    ) -> None:
        assert machine.hook(*arguments).is_silent
        assert machine.caught() == []

    def test_strange_names_are_made_plain(self, machine: Machine) -> None:
        assert machine.hook("../x y", "Ev\nent é", payload=machine.payload()).is_silent
        (entry,) = machine.caught()
        assert (entry.client, entry.event) == (".._x_y", "Ev_ent__")

    @pytest.mark.parametrize("mode", ["capture", "both"])
    def test_a_home_that_cannot_be_made_is_passed_over(self, machine: Machine, mode: str) -> None:
        machine.home.write_text("in the way")
        assert machine.hook(
            "claude-code", "SessionStart", mode, payload=machine.payload()
        ).is_silent
        assert machine.home.read_text() == "in the way"

    @pytest.mark.parametrize(
        "homeless", [{"HOME": "nowhere/at/all"}, {"WELLKEPT_HOME": "~no-such-user-here/memory"}]
    )
    def test_no_home_at_all_is_passed_over(
        self, machine: Machine, homeless: dict[str, str]
    ) -> None:
        done = subprocess.run(
            machine.command("claude-code", "SessionStart", "both"),
            input=machine.payload(),
            capture_output=True,
            env={**homeless, "PATH": os.environ["PATH"]},
            cwd=machine.project,
            check=False,
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
        assert list(machine.project.iterdir()) == []

    def test_a_full_disk_is_passed_over(self, machine: Machine) -> None:
        script = f"ulimit -f 4; exec {' '.join(machine.command('claude', 'Stop', 'both'))}"
        done = subprocess.run(
            ["/bin/sh", "-c", script],
            input=machine.payload(text="x" * 20_000),
            capture_output=True,
            env=machine.environment,
            check=False,
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
        assert machine.hook("claude", "Stop", payload=machine.payload()).is_silent
        assert len(machine.caught()) == 1

    @pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
    def test_closed_streams_are_passed_over(self, machine: Machine, closed: str) -> None:
        machine.remember("Deploys go through the staging cluster first", type="convention")
        command = " ".join(machine.command("claude-code", "SessionStart", "both"))
        done = subprocess.run(
            ["/bin/sh", "-c", f"{command} {closed}"],
            input=machine.payload(),
            capture_output=True,
            env=machine.environment,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, b"")

    def test_a_client_that_reads_nothing_is_passed_over(self, machine: Machine) -> None:
        machine.remember("Deploys go through the staging cluster first", type="convention")
        reading, writing = os.pipe()
        os.close(reading)
        done = subprocess.run(
            machine.command("claude-code", "SessionStart", "both"),
            input=machine.payload(source="startup"),
            stdout=writing,
            stderr=subprocess.PIPE,
            env=machine.environment,
            check=False,
        )
        os.close(writing)
        assert (done.returncode, done.stderr) == (0, b"")

    def test_a_hook_killed_while_it_reads_leaves_no_trace(self, machine: Machine) -> None:
        process = subprocess.Popen(
            machine.command("claude", "Stop"), stdin=subprocess.PIPE, env=machine.environment
        )
        assert process.stdin is not None
        process.stdin.write(machine.payload()[:10])
        process.stdin.flush()
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdin.close()
        assert machine.hook("claude", "Stop", payload=machine.payload()).is_silent
        assert len(machine.caught()) == 1

    def test_a_working_directory_that_was_deleted_is_passed_over(self, machine: Machine) -> None:
        gone = machine.project / "gone"
        script = f"mkdir {gone}; cd {gone}; rmdir {gone}; exec "
        script += " ".join(machine.command("claude-code", "SessionStart", "both"))
        done = subprocess.run(
            ["/bin/sh", "-c", script],
            input=b'{"session_id": "s"}',
            capture_output=True,
            env=machine.environment,
            check=False,
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
        assert len(machine.caught()) == 1

    def test_a_package_that_is_half_gone_is_passed_over(
        self, machine: Machine, tmp_path: Path
    ) -> None:
        copied = tmp_path / "packages" / "wellkept" / "clients"
        copied.mkdir(parents=True)
        shutil.copy(machine.program, copied)
        broken = Machine(machine.home, machine.project, program=copied / "hook.py")
        assert broken.hook("claude", "Stop", payload=machine.payload()).is_silent

    def test_debugging_says_what_is_wrong_on_stderr_only(self, machine: Machine) -> None:
        talking = Machine(machine.home, machine.project, extra={"WELLKEPT_DEBUG": "1"})
        answered = talking.hook("claude")
        assert (answered.code, answered.out) == (0, b"")
        assert "wrong arguments" in answered.errors
        machine.home.write_text("in the way")
        assert "not captured" in talking.hook("claude", "Stop").errors

    def test_a_project_with_an_odd_path_is_served(self, tmp_path: Path) -> None:
        project = tmp_path / 'it\'s a "folder"\nwith é'
        project.mkdir()
        odd = Machine(tmp_path / "ho me", project)
        odd.remember("Deploys go through the staging cluster first", type="convention")
        answered = odd.hook(
            "claude-code", "SessionStart", "both", payload=odd.payload(source="startup")
        )
        assert "staging cluster" in answered.context


class TestSessionKey:
    @given(st.from_regex(r"[A-Za-z0-9_é.:/-]{1,90}", fullmatch=True))
    def test_the_session_is_found_without_parsing(self, session: str) -> None:
        body = json.dumps({"x": {"y": 1}, "session_id": session}, ensure_ascii=False)
        assert session_key(body.encode()) == session

    @pytest.mark.parametrize(
        ("payload", "key"),
        [
            (b'{"conversation_id": "c-1"}', "c-1"),
            (b'{"input": {"sessionID" : "ses_1"}}', "ses_1"),
            (b'{\n "session_id":\n\t"s"}', "s"),
            (b'{"text": "\\"session_id\\": \\"no\\""}', "unknown"),
            (b'{"session_id": null}', "unknown"),
            (b'{"session_id": "unfinished', "unknown"),
            (b'{"session_id"', "unknown"),
            (b"", "unknown"),
        ],
    )
    def test_each_client_names_its_session(self, payload: bytes, key: str) -> None:
        assert session_key(payload) == key


def test_the_capture_path_imports_nothing_heavy(machine: Machine) -> None:
    script = (
        "import sys, os\n"
        "os._exit = lambda code: (_ for _ in ()).throw(SystemExit(code))\n"
        f"sys.argv = [{str(machine.program)!r}, 'claude', 'PostToolUse']\n"
        "before = set(sys.modules)\n"
        "try:\n"
        "    exec(compile(open(sys.argv[0]).read(), sys.argv[0], 'exec'),"
        " {'__name__': '__main__', '__file__': sys.argv[0]})\n"
        "except SystemExit:\n"
        "    print('\\n'.join(sorted(set(sys.modules) - before)))\n"
    )
    done = subprocess.run(
        [*PYTHON, "-c", script],
        input=machine.payload(),
        capture_output=True,
        env=machine.environment,
        check=True,
    )
    loaded = set(done.stdout.decode().split())
    ours = {name for name in loaded if name.startswith("wellkept")}
    assert ours == {
        "wellkept",
        "wellkept.clients",
        "wellkept.clients.certain_secrets",
        "wellkept.clients.hook_process",
        "wellkept.store",
        "wellkept.store.spool",
    }
    assert len(machine.caught()) == 1
    forbidden = {"json", "sqlite3", "re", "enum", "typing", "pathlib", "socket", "dataclasses"}
    assert not forbidden & loaded
