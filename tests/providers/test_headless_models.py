"""The user's own client as a model: how it is started, ended, read and kept from feeding itself."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from tests.providers.fake_clients import FakeClient, answers
from wellkept.core.errors import ProviderError
from wellkept.models.chat.text import CLIENTS
from wellkept.models.headless.clients import HeadlessClient, headless_client
from wellkept.models.headless.model import FIRST_LINE

pytestmark = [
    pytest.mark.feature("C10"),
    pytest.mark.skipif(sys.platform == "win32", reason="the stand-ins are Unix scripts"),
]


@pytest.fixture(params=list(CLIENTS))
def client(request: pytest.FixtureRequest) -> HeadlessClient:
    return headless_client(request.param)


def _failure(fake: FakeClient, **options: float) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        fake.model(**options).ask("Why?", max_tokens=64)  # type: ignore[arg-type]
    return caught.value


def test_an_answer_is_read_with_its_cost(tmp_path: Path, client: HeadlessClient) -> None:
    fake = FakeClient(tmp_path, client, answers(client.name, '{"a": "@\u200bx $\u200bHOME"}'))
    answer = fake.model().ask("Why?", max_tokens=64)
    assert (answer.text, answer.input_tokens, answer.output_tokens) == ('{"a": "@x $HOME"}', 15, 3)


def test_the_prompt_is_harmless_and_the_client_alone_in_an_empty_private_folder(
    tmp_path: Path, client: HeadlessClient
) -> None:
    fake = FakeClient(tmp_path, client, answers(client.name, "yes"))
    fake.model(CLAUDECODE="1", GEMINI_CLI="1", USER_THING="kept").ask(
        "/compact @/etc/passwd $skill", max_tokens=64
    )
    seen = fake.seen
    assert seen["stdin"] == f"{FIRST_LINE}/compact @\u200b/etc/passwd $\u200bskill"
    assert seen["files"] == []
    assert Path(str(seen["cwd"])).is_relative_to(fake.private)
    assert not Path(str(seen["cwd"])).exists()
    assert fake.private.stat().st_mode & 0o077 == 0
    environment = fake.environment
    assert environment["WELLKEPT_SELF"] == "1"
    assert environment["USER_THING"] == "kept"
    assert not {"CLAUDECODE", "GEMINI_CLI"} & set(environment)
    assert seen["group"] == seen["pid"] != os.getpgrp()


def test_no_call_starts_inside_a_call(tmp_path: Path, client: HeadlessClient) -> None:
    fake = FakeClient(tmp_path, client, answers(client.name, "yes"))
    with pytest.raises(ProviderError) as caught:
        fake.model(WELLKEPT_SELF="1").ask("Why?", max_tokens=64)
    assert caught.value.cause == "wait"
    assert not fake.program.with_name(f"{fake.program.name}.seen").exists()


def test_a_client_that_hangs_is_ended_with_its_children(
    tmp_path: Path, client: HeadlessClient
) -> None:
    child = tmp_path / "child"
    script = f"""
inner = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
open({str(child)!r}, "w").write(str(inner.pid))
time.sleep(600)
"""
    error = _failure(FakeClient(tmp_path, client, script), limit_s=1.5)
    assert error.cause == "busy"
    assert "1.5 s" in error.message
    with pytest.raises(ProcessLookupError):
        os.kill(_reaped(int(child.read_text())), 0)


def _reaped(pid: int) -> int:
    """The id once the system has cleared the process away, or is about to."""
    state = Path(f"/proc/{pid}/stat")
    for _ in range(1_000):
        if not state.exists() or state.read_text().rpartition(")")[2].split()[0] == "Z":
            return -(2**30) if state.exists() else pid
    return pid


def test_an_end_on_request_with_code_0_is_no_answer(tmp_path: Path, client: HeadlessClient) -> None:
    script = "signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))\ntime.sleep(600)\n"
    assert _failure(FakeClient(tmp_path, client, script), limit_s=1.0).cause == "busy"


def test_endless_output_is_cut_off(tmp_path: Path, client: HeadlessClient) -> None:
    script = "while True: print('x' * 1000)\n"
    error = _failure(FakeClient(tmp_path, client, script), max_bytes=100_000)
    assert "100,000 bytes" in error.message


@pytest.mark.parametrize("script", ["", "print('<html>hello</html>')", "sys.exit(3)"])
def test_silence_nonsense_and_a_bad_end_are_no_answer(
    tmp_path: Path, client: HeadlessClient, script: str
) -> None:
    _failure(FakeClient(tmp_path, client, script))


def test_an_empty_answer_is_no_answer(tmp_path: Path, client: HeadlessClient) -> None:
    assert _failure(FakeClient(tmp_path, client, answers(client.name, " "))).cause == "answer"


_FAILURES = [
    ("claude", '{"is_error": true, "api_error_status": 429, "result": "Limit"}', 1, "busy"),
    ("claude", '{"is_error": true, "api_error_status": 500, "result": "Sorry"}', 1, "busy"),
    ("claude", '{"is_error": true, "result": "Not logged in - Please run /login"}', 1, "login"),
    ("codex", '{"type": "turn.failed", "error": {"message": "status 429"}}', 1, "busy"),
    ("codex", '{"type": "turn.failed", "error": {"message": "401 Unauthorized"}}', 1, "login"),
    ("gemini", '{"error": {"message": "Too many", "code": 429}}', 173, "busy"),
    ("gemini", '{"error": {"message": "Please set an Auth method"}}', 41, "login"),
    ("gemini", "", 244, "busy"),
    (
        "opencode",
        '{"type": "error", "error": {"name": "APIError", "data": {"statusCode": 401}}}',
        1,
        "login",
    ),
    (
        "opencode",
        '{"type": "error", "error": {"data": {"message": "Overloaded", "statusCode": 529}}}',
        1,
        "busy",
    ),
]


@pytest.mark.parametrize(("name", "said", "code", "cause"), _FAILURES)
def test_the_cause_of_a_failure_is_understood(
    tmp_path: Path, name: str, said: str, code: int, cause: str
) -> None:
    script = f"print({said!r})\nsys.exit({code})\n"
    assert _failure(FakeClient(tmp_path, headless_client(name), script)).cause == cause


def test_opencode_is_stopped_at_its_first_step_so_that_it_cannot_ask_without_end(
    tmp_path: Path,
) -> None:
    empty = json.dumps({"type": "step_finish", "part": {"reason": "stop", "tokens": {}}})
    script = f"""
for number in range(10_000):
    open(__file__ + ".rounds", "w").write(str(number))
    print({empty!r}, flush=True)
    time.sleep(0.2)
"""
    fake = FakeClient(tmp_path, headless_client("opencode"), script)
    assert _failure(fake).cause == "answer"
    rounds = int(fake.program.with_name("opencode.rounds").read_text())
    assert rounds < 100


@pytest.mark.parametrize("name", ["claude", "codex"])
def test_a_client_that_is_not_logged_in_is_not_asked(tmp_path: Path, name: str) -> None:
    fake = FakeClient(tmp_path, headless_client(name), "")
    fake.program.write_text("#!/bin/sh\nexit 1\n")
    error = _failure(fake)
    assert error.cause == "login"
    assert "not logged in" in error.message


def test_a_missing_program_and_a_missing_model_are_told(tmp_path: Path) -> None:
    fake = FakeClient(tmp_path, headless_client("claude"), "")
    fake.program.unlink()
    assert "was not found" in _failure(fake).message


def test_the_mark_of_a_login_changes_when_the_user_logs_in(
    tmp_path: Path, client: HeadlessClient
) -> None:
    fake = FakeClient(tmp_path, client, "")
    before = fake.model().login
    path = client.login_files({"HOME": str(fake.home)})[0]
    path.parent.mkdir(parents=True)
    path.write_text("{}")
    assert fake.model().login != before
    assert fake.model(ANTHROPIC_API_KEY="sk-secret").login != before
    assert "sk-secret" not in fake.model(ANTHROPIC_API_KEY="sk-secret").login


def test_codex_has_a_home_with_nothing_but_a_link_to_the_login(tmp_path: Path) -> None:
    fake = FakeClient(tmp_path, headless_client("codex"), answers("codex", "yes"))
    login = fake.home / ".codex" / "auth.json"
    login.parent.mkdir()
    login.write_text("{}")
    (login.parent / "AGENTS.md").write_text("Always shout.")
    fake.model().ask("Why?", max_tokens=64)
    home = fake.private / "codex"
    assert {path.name for path in home.iterdir()} == {"auth.json", "sys.md"}
    assert (home / "auth.json").readlink() == login


def test_gemini_has_a_home_with_its_own_settings_and_the_users_way_to_log_in(
    tmp_path: Path,
) -> None:
    fake = FakeClient(tmp_path, headless_client("gemini"), answers("gemini", "yes"))
    folder = fake.home / ".gemini"
    folder.mkdir()
    security = {"auth": {"selectedType": "oauth-personal"}}
    (folder / "settings.json").write_text(json.dumps({"security": security, "hooks": {"x": "y"}}))
    fake.model().ask("Why?", max_tokens=64)
    settings = json.loads((fake.private / "gemini/.gemini/settings.json").read_text())
    assert settings["security"] == security
    assert settings["hooksConfig"] == {"enabled": False}
    assert "hooks" not in settings


def test_opencode_keeps_the_users_models_and_nothing_else(tmp_path: Path) -> None:
    fake = FakeClient(tmp_path, headless_client("opencode"), answers("opencode", "yes"))
    folder = fake.home / ".config" / "opencode"
    folder.mkdir(parents=True)
    (folder / "opencode.jsonc").write_text(
        '{// mine\n"small_model": "a/b", "provider": {"a": {"u": "http://x/y",}}, "plugin": ["z"],}'
    )
    fake.model().ask("Why?", max_tokens=64)
    config = json.loads(fake.environment["OPENCODE_CONFIG_CONTENT"])
    assert config["provider"] == {"a": {"u": "http://x/y"}}
    assert config["plugin"] == []
    assert headless_client("opencode").usual_model({"HOME": str(fake.home)}) == "a/b"
