"""Bash, BashOutput and KillShell (G2) with real processes."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

import pytest

from tests.agent.tools.conftest import MakeBench, ToolBench
from wellkept.testing.scripted_model import call, calls
from wellkept_agent.events import ToolProgress
from wellkept_agent.settings import ToolSettings
from wellkept_agent.tools.default import default_tools
from wellkept_agent.tools.shell.bash import command_environment
from wellkept_agent.tools.shell.process import OutputBuffer

pytestmark = pytest.mark.feature("G2")


def _is_alive(pid: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False


def _wait_until_gone(pid: int) -> bool:
    for _ in range(200):
        if not _is_alive(pid):
            return True
        time.sleep(0.02)
    return False


def test_output_and_exit_code_come_back(bench: ToolBench) -> None:
    output = bench.use("Bash", command="echo out; echo err >&2")
    assert output.content == "out\nerr"
    assert output.command == "echo out; echo err >&2"
    assert not output.is_error
    failed = bench.use("Bash", command="echo broken; exit 3")
    assert failed.content == "Exit code 3\nbroken"
    assert failed.is_error
    assert bench.use("Bash", command="true").content == "(No output; exit code 0.)"
    assert "127" in bench.use("Bash", command="no-such-program").content
    assert "Exit code 137 (SIGKILL)" in bench.use("Bash", command="kill -9 $$").content
    assert bench.use("Bash", command="   ").is_error
    assert "syntax error" in bench.use("Bash", command="if then").content


def test_the_folder_is_kept_between_calls_but_stays_in_the_project(bench: ToolBench) -> None:
    (bench.root / "sub").mkdir()
    bench.use("Bash", command="cd sub")
    assert bench.use("Bash", command="pwd").content == str(bench.root / "sub")
    bench.write("sub/here.txt", "x\n")
    assert "x" in bench.use("Read", file_path="here.txt").content
    outside = bench.use("Bash", command="cd / && echo moved")
    assert "outside of the project" in outside.content
    assert bench.use("Bash", command="pwd; exit 4").content.endswith(str(bench.root / "sub"))
    (bench.root / "sub" / "here.txt").unlink()
    (bench.root / "sub").rmdir()
    assert "is gone" in bench.use("Bash", command="pwd").content
    assert bench.use("Bash", command="pwd").content == str(bench.root)


def test_a_command_sees_no_arguments_of_ours(bench: ToolBench) -> None:
    assert bench.use("Bash", command='echo "$# $0"').content == "0 bash"


def test_a_command_that_takes_too_long_is_ended_with_all_it_started(bench: ToolBench) -> None:
    output = bench.use("Bash", command="sleep 300 & echo $!; echo begun; sleep 300", timeout=500)
    assert output.is_error
    assert output.content.startswith("Timed out after 0.5 s (timeout is in milliseconds)")
    assert "begun" in output.content
    child = int(output.content.splitlines()[1])
    assert _wait_until_gone(child)


def test_what_a_command_leaves_running_is_ended_and_said(bench: ToolBench) -> None:
    output = bench.use("Bash", command="sleep 300 >/dev/null 2>&1 & echo $!")
    assert "run_in_background" in output.content
    assert _wait_until_gone(int(output.content.splitlines()[0]))


def test_stopping_the_run_ends_the_command(bench: ToolBench) -> None:
    bench._next = [calls(call("Bash", command="echo $$ > pid; sleep 300"))]  # pyright: ignore[reportPrivateUsage]

    async def run() -> str:
        turn = asyncio.ensure_future(bench.session.run("go"))
        while not (bench.root / "pid").exists() or not (bench.root / "pid").read_text().strip():
            await asyncio.sleep(0.01)
        bench.session.stop()
        return (await turn).end

    assert asyncio.run(run()) == "cancelled"
    assert _wait_until_gone(int((bench.root / "pid").read_text()))
    assert bench.session.conversation.turns[-1].tool_results
    assert bench.use("Bash", command="echo again").content == "again"


def test_long_output_keeps_its_end(make_bench: MakeBench) -> None:
    bench = make_bench(tools=default_tools(settings=ToolSettings(bash_output_chars=1_000)))
    content = bench.use("Bash", command="seq 1 100000").content
    assert content.startswith("1\n2\n")
    assert content.endswith("\n99999\n100000")
    assert "bytes left out" in content
    assert len(content) < 1_100


def test_output_is_made_readable(bench: ToolBench) -> None:
    command = r"printf '10%%\r50%%\r100%%\n\033[31mred\033[0m\n\377\000x\n'"
    assert bench.use("Bash", command=command).content == "100%\nred\n\ufffd\ufffdx"


@pytest.mark.parametrize("sizes", [[1], [5, 5, 5], [1000], [1] * 300])
def test_the_buffer_never_holds_more_than_its_room(sizes: list[int]) -> None:
    buffer = OutputBuffer(100)
    data = b""
    for size in sizes:
        buffer.add(b"a" * size)
        data += b"a" * size
    text = buffer.text()
    assert text.count("a") <= 100
    if len(data) <= 100:
        assert text.encode() == data
    else:
        assert f"{len(data) - 100:,} bytes left out" in text


def test_there_is_no_input_and_no_terminal(bench: ToolBench) -> None:
    assert bench.use("Bash", command='read x; echo "got:$x"; tty').content.startswith("Exit code")


def test_keys_of_ours_are_not_handed_on() -> None:
    given = {
        "PATH": "/bin",
        "ANTHROPIC_API_KEY": "a",
        "OPENAI_API_KEY": "b",
        "WELLKEPT_TOKEN": "c",
        "ANTHROPIC_AUTH_TOKEN": "d",
        "GITHUB_TOKEN": "kept",
    }
    seen = command_environment(given)
    assert {name: seen.get(name) for name in given} == {
        "PATH": "/bin", "GITHUB_TOKEN": "kept", "ANTHROPIC_API_KEY": None, "OPENAI_API_KEY": None,
        "WELLKEPT_TOKEN": None, "ANTHROPIC_AUTH_TOKEN": None,
    }  # fmt: skip
    assert seen["GIT_TERMINAL_PROMPT"] == "0"
    assert command_environment(given, keep=["OPENAI_API_KEY"])["OPENAI_API_KEY"] == "b"


def test_a_command_does_not_see_the_keys(bench: ToolBench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    assert "sk-secret" not in bench.use("Bash", command="env").content


def test_a_background_command_is_read_and_ended(bench: ToolBench) -> None:
    started = bench.use(
        "Bash", command="echo one; echo two; exec sleep 300", run_in_background=True
    )
    assert "bash_1" in started.content
    job = bench.session.jobs.get("bash_1")
    while b"two" not in job.process.output.text().encode():
        time.sleep(0.01)
    first = bench.use("BashOutput", bash_id="bash_1", filter="t.o")
    assert first.content == "[bash_1: running]\ntwo"
    assert "(no new output)" in bench.use("BashOutput", bash_id="bash_1").content
    assert bench.use("KillShell", shell_id="bash_1").content == "bash_1 was ended."
    assert _wait_until_gone(job.process.pid)
    assert "ended" in bench.use("BashOutput", bash_id="bash_1").content
    unknown = bench.use("BashOutput", bash_id="bash_9")
    assert "bash_1 (ended)" in unknown.content
    assert bench.use("BashOutput", bash_id="bash_1", filter="(").is_error


def test_a_background_command_that_failed_is_an_error(bench: ToolBench) -> None:
    bench.use("Bash", command="echo no; exit 2", run_in_background=True)
    output = bench.use("BashOutput", bash_id="bash_1", wait=10_000)
    assert output.content == "[bash_1: exited with code 2]\nno"
    assert output.is_error
    assert output.command == "echo no; exit 2"


def test_closing_the_session_ends_background_commands(bench: ToolBench) -> None:
    bench.use("Bash", command="sleep 300 & wait", run_in_background=True)
    pid = bench.session.jobs.get("bash_1").process.pid
    assert _is_alive(pid)
    asyncio.run(bench.session.close())
    assert _wait_until_gone(pid)


def test_new_output_is_reported_while_a_command_runs(bench: ToolBench) -> None:
    bench.use("Bash", command="echo early; sleep 0.4; echo late")
    texts = [event.text for event in bench.events if isinstance(event, ToolProgress)]
    assert "early" in "".join(texts)


def test_the_number_of_background_commands_is_bounded(bench: ToolBench) -> None:
    outputs = [
        bench.use("Bash", command="exec sleep 300", run_in_background=True) for _ in range(17)
    ]
    assert not outputs[15].is_error
    assert "KillShell" in outputs[16].content
    assert outputs[16].is_error


def test_a_huge_command_and_a_nul_are_refused(bench: ToolBench) -> None:
    assert bench.use("Bash", command="echo a\0b").is_error
    assert bench.use("Bash", command="echo " + "x" * 3_000_000).is_error
    assert os.getcwd()  # noqa: PTH109 - the process itself has not moved
