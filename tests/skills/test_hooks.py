"""Hooks of skills: they run only after a yes, and whatever they do, the agent goes on."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import monotonic

import pytest

from tests.skills.reading import document, put
from wellkept.core.errors import ConflictError, UsageError
from wellkept.core.skills import SkillIndex
from wellkept.skills.hooks.process import MAX_OUTPUT_BYTES, filtered_environment, run_command
from wellkept.skills.hooks.runner import HookState, HookStatus, SkillHooks
from wellkept.skills.hooks.trust import TrustFile, fingerprint
from wellkept.skills.sources.catalog import SkillCatalog
from wellkept.skills.sources.locations import project_locations
from wellkept.skills.sources.scanner import FolderScanner

pytestmark = [
    pytest.mark.feature("F8"),
    pytest.mark.skipif(sys.platform == "win32", reason="the commands are for a POSIX shell"),
]


class Once:
    """What ran once, in memory."""

    def __init__(self) -> None:
        self._seen: set[tuple[str, str]] = set()

    def claim(self, session: str, hook: str) -> bool:
        is_new = (session, hook) not in self._seen
        self._seen.add((session, hook))
        return is_new


class Project:
    """A project with one skill, and its hooks."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "work"
        self.root.mkdir()
        self.trust_file = folder / "own" / "hook-trust.json"
        scanners = [FolderScanner(place) for place in project_locations(self.root)]
        self._catalogue = SkillCatalog(scanners)
        self.hooks = SkillHooks(
            index=self._index,
            root=self.root,
            trust=TrustFile(self.trust_file),
            ran=Once(),
            environment={**os.environ, "SECRET_TOKEN": "t0p"},
        )

    def _index(self) -> SkillIndex:
        return self._catalogue.index()

    @property
    def skill_folder(self) -> Path:
        return self.root / ".claude" / "skills" / "demo"

    def write(self, *commands: str, event: str = "PreToolUse", more: str = "") -> None:
        """Give the skill these commands as hooks of one event."""
        lines = [f"hooks:\n  {event}:\n"]
        for command in commands:
            lines.append(f"    - matcher: Bash\n      command: {json.dumps(command)}\n{more}")
        text = document(more="".join(lines))
        put(self.skill_folder.parent, "demo", text)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


@pytest.fixture
def run(project: Project) -> Callable[[str], tuple[HookStatus, str]]:
    """Trust one command, run it, and give its status and message."""

    def ran(command: str, *, timeout: str = "20") -> tuple[HookStatus, str]:
        project.write(command, more=f"      timeout: {timeout}\n")
        project.hooks.trust("demo")
        report = project.hooks.run("PreToolUse", tool="Bash", skills=["demo"])
        (result,) = report.results
        return result.status, result.message

    return ran


# -- Trust ----------------------------------------------------------------------------------------


def test_nothing_runs_before_a_person_agreed(project: Project) -> None:
    project.write("touch ran")
    report = project.hooks.run("PreToolUse", tool="Bash", skills=["demo"])
    assert [one.status for one in report.results] == [HookStatus.NOT_TRUSTED]
    assert not (project.root / "ran").exists()
    assert "wellkept skill trust demo" in report.problems[0]
    assert not report.is_blocked


def test_after_a_yes_it_runs_in_the_projects_folder(project: Project) -> None:
    project.write("pwd > where; cat > told")
    project.hooks.trust("demo")
    report = project.hooks.run(
        "PreToolUse", tool="Bash", tool_input={"command": "ls"}, session="s1", skills=["demo"]
    )
    assert [one.status for one in report.results] == [HookStatus.DONE]
    assert (project.root / "where").read_text().strip() == str(project.root.resolve())
    told = json.loads((project.root / "told").read_text())
    assert (told["hook_event_name"], told["tool_name"]) == ("PreToolUse", "Bash")
    assert (told["tool_input"], told["session_id"]) == ({"command": "ls"}, "s1")


@pytest.mark.parametrize("changed", ["document", "script", "new file"])
def test_an_edited_skill_asks_again(project: Project, changed: str) -> None:
    project.write("sh .claude/skills/demo/go.sh")
    script = project.skill_folder / "go.sh"
    script.write_text("touch ran")
    project.hooks.trust("demo")
    assert {one.state for one in project.hooks.list()} == {HookState.TRUSTED}
    if changed == "document":
        project.write("sh .claude/skills/demo/go.sh; true")
    elif changed == "script":
        script.write_text("touch ran # and more")
    else:
        (project.skill_folder / "helper.sh").write_text("true")
    assert {one.state for one in project.hooks.list()} == {HookState.CHANGED}
    project.hooks.run("PreToolUse", tool="Bash", skills=["demo"])
    assert not (project.root / "ran").exists()


def test_a_yes_holds_for_one_folder_only(project: Project, tmp_path: Path) -> None:
    project.write("true")
    project.hooks.trust("demo")
    trust = TrustFile(project.trust_file)
    assert len(trust.trusted(project.root)) == 1
    assert trust.trusted(tmp_path / "elsewhere") == {}
    project.hooks.untrust("demo")
    assert trust.trusted(project.root) == {}


def test_only_what_was_looked_at_is_agreed_to(project: Project) -> None:
    project.write("true")
    looked_at = project.hooks.list()
    project.write("rm -rf everything")
    with pytest.raises(ConflictError):
        project.hooks.trust("demo", seen=looked_at)
    assert {one.state for one in project.hooks.list()} == {HookState.NEW}


@pytest.mark.parametrize("broken", ["", "{", "[]", '{"x": 1}', "\xff", '{"a": {"b": 3}}'])
def test_a_broken_file_of_agreements_trusts_nothing(project: Project, broken: str) -> None:
    project.write("true")
    project.hooks.trust()
    assert (project.trust_file.stat().st_mode & 0o777) == 0o600
    project.trust_file.write_text(broken, "latin-1")
    assert {one.state for one in project.hooks.list()} == {HookState.NEW}
    project.hooks.trust()
    assert {one.state for one in project.hooks.list()} == {HookState.TRUSTED}


def test_links_count_by_what_they_lead_to(project: Project, tmp_path: Path) -> None:
    outside = tmp_path / "outside.sh"
    outside.write_text("true")
    project.write("true")
    (project.skill_folder / "go.sh").symlink_to(outside)
    skill = project.hooks.list()[0].skill
    before = fingerprint(skill)
    outside.write_text("rm -rf everything")
    assert fingerprint(skill) != before


def test_a_skill_without_hooks_cannot_be_agreed_to(project: Project) -> None:
    put(project.skill_folder.parent, "demo")
    for name in ("demo", "nosuch"):
        with pytest.raises(UsageError):
            project.hooks.trust(name)
    assert project.hooks.trust() == []


# -- Which of them run ----------------------------------------------------------------------------


def test_the_matcher_is_a_pattern_over_the_whole_name(project: Project) -> None:
    project.write("true")
    project.hooks.trust()
    ran = {
        tool: len(project.hooks.run("PreToolUse", tool=tool, skills=["demo"]).results)
        for tool in ("Bash", "BashOutput", "bash", "")
    }
    assert ran == {"Bash": 1, "BashOutput": 0, "bash": 0, "": 0}


def test_only_hooks_of_the_event_run(project: Project) -> None:
    project.write("true", event="Stop")
    project.hooks.trust()
    assert project.hooks.run("PreToolUse", tool="Bash", skills=["demo"]).results == ()
    assert len(project.hooks.run("stop", skills=["demo"]).results) == 1
    with pytest.raises(UsageError, match="Unknown hook event"):
        project.hooks.run("Nonsense", skills=["demo"])


def test_once_is_once_for_each_session(project: Project) -> None:
    project.write("echo x >> ran", more="      once: true\n")
    project.hooks.trust()
    for session in ("s1", "s1", "s2", "s1"):
        project.hooks.run("PreToolUse", tool="Bash", session=session, skills=["demo"])
    assert (project.root / "ran").read_text().split() == ["x", "x"]


def test_hooks_count_while_their_skill_is_in_use(project: Project) -> None:
    project.write("true")
    project.hooks.trust()
    assert project.hooks.run("PreToolUse", tool="Bash", session="s1").results == ()
    project.hooks.use("demo", session="s1")
    assert len(project.hooks.run("PreToolUse", tool="Bash", session="s1").results) == 1
    assert project.hooks.run("PreToolUse", tool="Bash", session="s2").results == ()
    project.hooks.end("s1")
    assert project.hooks.run("PreToolUse", tool="Bash", session="s1").results == ()


def test_skills_that_threads_use_at_once_in_a_session_all_count(project: Project) -> None:
    names = [f"skill-{number}" for number in range(200)]
    with ThreadPoolExecutor(8) as threads:
        for name in names:
            threads.submit(project.hooks.use, name, session="s1")
    assert set(project.hooks.in_use("s1")) == set(names)


# -- What they may do -----------------------------------------------------------------------------

Run = Callable[..., tuple[HookStatus, str]]


def test_exit_code_two_blocks_with_its_words(run: Run, project: Project) -> None:
    assert run("echo no way >&2; exit 2") == (HookStatus.BLOCKED, "no way")
    report = project.hooks.run("PreToolUse", tool="Bash", skills=["demo"])
    assert (report.is_blocked, report.reason, report.problems) == (True, "no way", ())


@pytest.mark.parametrize(
    "answer",
    [
        {"decision": "block", "reason": "not now"},
        {
            "hookSpecificOutput": {
                "permissionDecision": "deny",
                "permissionDecisionReason": "not now",
            }
        },
    ],
)
def test_an_answer_in_json_blocks_too(run: Run, answer: dict[str, object]) -> None:
    assert run(f"echo '{json.dumps(answer)}'") == (HookStatus.BLOCKED, "not now")


@pytest.mark.parametrize("said", ["{", '{"decision": "approve"}', "[1]", "plain words", ""])
def test_any_other_answer_is_only_output(run: Run, said: str) -> None:
    assert run(f"printf %s '{said}'") == (HookStatus.DONE, "")


@pytest.mark.parametrize(
    "command", ["exit 255", "no-such-program-anywhere", "kill -9 $$", "exit 1"]
)
def test_a_hook_that_fails_is_reported_and_nothing_more(run: Run, command: str) -> None:
    status, message = run(command)
    assert status is HookStatus.FAILED
    assert "PreToolUse hook of the skill demo failed" in message


def test_a_hook_that_hangs_is_ended_with_all_its_children(run: Run, project: Project) -> None:
    command = "sleep 600 & echo $! > child; sleep 600"
    status, _ = run(command, timeout="0.5")
    assert status is HookStatus.TIMED_OUT
    assert _ends(int((project.root / "child").read_text()))


def test_what_a_hook_leaves_running_is_ended_with_it(run: Run, project: Project) -> None:
    status, _ = run("sleep 600 & echo $! > child")
    assert status is HookStatus.DONE
    assert _ends(int((project.root / "child").read_text()))


def _ends(pid: int) -> bool:
    """Whether a process that was killed is gone; the system may take a moment for it."""
    deadline = monotonic() + 30
    while _is_alive(pid) and monotonic() < deadline:
        os.sched_yield()
    return not _is_alive(pid)


def _is_alive(pid: int) -> bool:
    """Whether a process runs; one that waits to be collected does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state not in "ZX"


def test_a_flood_of_output_is_cut(tmp_path: Path) -> None:
    flood = "head -c 100000000 /dev/zero | tr '\\0' x; head -c 1000000 /dev/zero >&2"
    done = run_command(flood, cwd=tmp_path, environment=os.environ, stdin=b"", timeout_s=60)
    assert (done.exit_code, done.is_cut) == (0, True)
    assert len(done.stdout) == len(done.stderr) == MAX_OUTPUT_BYTES


def test_endless_output_ends_with_the_time(tmp_path: Path) -> None:
    done = run_command("yes", cwd=tmp_path, environment=os.environ, stdin=b"", timeout_s=0.5)
    assert (done.timed_out, done.is_cut) == (True, True)


def test_a_hook_that_does_not_read_is_not_waited_for(tmp_path: Path) -> None:
    done = run_command(
        "true", cwd=tmp_path, environment=os.environ, stdin=b"x" * 2_000_000, timeout_s=60
    )
    assert done.exit_code == 0


def test_bytes_that_are_no_text_are_shown_as_marks(tmp_path: Path) -> None:
    done = run_command(
        r"printf '\377\000a'", cwd=tmp_path, environment=os.environ, stdin=b"", timeout_s=60
    )
    assert done.stdout == "\ufffd\ufffda"


def test_a_folder_that_is_gone_is_a_report(run: Run, project: Project, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    command = f"rmdir {gone}"
    first = run_command(command, cwd=gone, environment=os.environ, stdin=b"", timeout_s=60)
    again = run_command(command, cwd=gone, environment=os.environ, stdin=b"", timeout_s=60)
    assert first.exit_code == 0
    assert again.problem is not None
    assert "could not be started" in again.problem


@pytest.mark.parametrize("command", ["echo a\0b", "true " + "x" * 3_000_000])
def test_a_command_that_the_system_refuses_is_a_report(tmp_path: Path, command: str) -> None:
    done = run_command(command, cwd=tmp_path, environment=os.environ, stdin=b"", timeout_s=60)
    assert done.problem is not None


def test_keys_and_tokens_are_not_passed_on(run: Run, project: Project) -> None:
    assert run("env > seen")[0] is HookStatus.DONE
    seen = (project.root / "seen").read_text()
    assert "t0p" not in seen
    assert "SKILL_NAME=demo" in seen
    assert f"CLAUDE_PROJECT_DIR={project.root}" in seen
    assert set(
        filtered_environment({"PATH": "p", "LC_ALL": "C", "AWS_SECRET": "s", "WELLKEPT_X": "y"})
    ) == {
        "PATH",
        "LC_ALL",
    }


def test_one_bad_hook_does_not_keep_the_next_from_running(project: Project) -> None:
    project.write("exit 9", "touch ran")
    project.hooks.trust()
    report = project.hooks.run("PreToolUse", tool="Bash", skills=["demo", "nosuch"])
    assert [one.status for one in report.results] == [HookStatus.FAILED, HookStatus.DONE]
    assert (project.root / "ran").exists()


def test_huge_material_is_left_out_of_what_a_hook_is_told(project: Project) -> None:
    project.write("cat > told", event="PostToolUse")
    project.hooks.trust()
    project.hooks.run("PostToolUse", tool="Bash", tool_response="x" * 3_000_000, skills=["demo"])
    told = json.loads((project.root / "told").read_text())
    assert told["is_cut"] is True
    assert "tool_response" not in told
