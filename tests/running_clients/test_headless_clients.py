"""The four real clients as Wellkept's text model, with Wellkept installed in them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.running_clients.endpoints import Endpoint, Fault, Say
from tests.running_clients.starting import ROOT, Client, Machine, every_client
from wellkept.core.errors import ProviderError
from wellkept.core.records import replace
from wellkept.models.headless.clients import HeadlessClient, headless_client
from wellkept.models.headless.model import HeadlessModel

pytestmark = pytest.mark.feature("C10")
ANSWER = '{"ok": "yes @\u200bfile"}'
# What the clients add to the prompt, in bytes; a plain call adds 43,000 or more.
MOST_ADDED = 5_000


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """A home with instructions for every client, and a project with a secret in it."""
    made = Machine(tmp_path)
    made.home.mkdir()
    made.project.mkdir()
    (made.project / "secret.txt").write_text("MARKER-SECRET")
    for name in (".claude/CLAUDE.md", ".codex/AGENTS.md", ".gemini/GEMINI.md"):
        path = made.home / name
        path.parent.mkdir(parents=True)
        path.write_text("MARKER-INSTRUCTIONS")
    return made


def _model(machine: Machine, client: Client, address: str, *, limit_s: float) -> HeadlessModel:
    client.configure(machine, address)
    if client.name == "opencode":
        config = machine.home / ".config" / "opencode"
        config.mkdir(parents=True, exist_ok=True)
        (machine.project / "opencode.json").rename(config / "opencode.json")
    keys = {"ANTHROPIC_API_KEY": "none", "ANTHROPIC_BASE_URL": address}
    keys |= {"GEMINI_API_KEY": "none", "GOOGLE_GEMINI_BASE_URL": address}
    name = client.name.removesuffix("-code")
    asked = _codex_elsewhere(address) if name == "codex" else headless_client(name)
    return HeadlessModel(
        asked,
        folder=machine.folder / "private",
        environment=machine.environment | keys,
        command=str(ROOT / client.program),
        limit_s=limit_s,
    )


def _codex_elsewhere(address: str) -> HeadlessClient:
    """Codex with a provider on loopback, for which there is nothing to log in to."""
    provider: Mapping[str, object] = {
        "name": "fake",
        "base_url": f"{address}/v1",
        "env_key": "FAKE_KEY",
        "wire_api": "responses",
        "request_max_retries": 0,
        "stream_max_retries": 0,
    }
    inline = ",".join(f"{name}={json.dumps(value)}" for name, value in provider.items())
    codex = headless_client("codex")
    *words, last = codex.arguments
    more = ("-c", 'model_provider="fake"', "-c", f"model_providers.fake={{{inline}}}")
    return replace(codex, login_check=(), arguments=(*words, *more, last))


@pytest.mark.parametrize("client", every_client()[:4])
def test_a_client_answers_lean_and_without_hooks_tools_files_or_history(
    machine: Machine, client: Client
) -> None:
    machine.wellkept("install", client.name)
    before = _files(machine.home)
    prompt = f"/compact Say ok. @{machine.project}/secret.txt $skill"
    with Endpoint([Say("Done.")] * 9, without_tools=ANSWER, with_tools=ANSWER) as endpoint:
        answer = _model(machine, client, endpoint.address, limit_s=150).ask(prompt, max_tokens=500)
    assert answer.text == ANSWER.replace("\u200b", "")
    assert len(endpoint.asked) == 1
    (sent,) = map(json.dumps, endpoint.asked)
    assert len(sent) < MOST_ADDED
    assert "MARKER" not in sent
    assert "wellkept_" not in sent
    assert "mcp__" not in sent
    assert not list((machine.folder / "wellkept").glob("spool/*.spool"))
    # Nothing of the call in the user's own folders but caches and settings.
    fresh = [path for path in _files(machine.home) - before if "secret.txt" in _text(path)]
    assert fresh == []


@pytest.mark.parametrize("client", every_client()[:4])
@pytest.mark.parametrize(
    ("fault", "causes"),
    [
        (Fault(429), {"busy"}),
        (Fault(hang=True), {"busy"}),
        (Fault(html=True), {"answer", "busy", "other"}),
    ],
    ids=["429", "hang", "html"],
)
def test_a_client_that_gets_no_answer_is_left(
    machine: Machine, client: Client, fault: Fault, causes: set[str]
) -> None:
    with Endpoint([], fault=fault) as endpoint:
        model = _model(machine, client, endpoint.address, limit_s=12)
        with pytest.raises(ProviderError) as caught:
            model.ask("Say ok.", max_tokens=500)
    assert caught.value.cause in causes


SAID = "The zebra house belongs to Kofi"
FACT = {
    "type": "fact",
    "content": "The zebra house belongs to Kofi.",
    "evidence": [{"event": "e1", "quote": SAID}],
}


@pytest.mark.parametrize("client", every_client()[:1])
@pytest.mark.feature("C3", "C8")
def test_claude_code_reads_its_own_sessions_and_never_itself(
    machine: Machine, client: Client
) -> None:
    machine.wellkept("install", client.name)
    machine.wellkept("config", "set", "text_model.provider", "claude")
    machine.wellkept("config", "set", "text_model.command", str(ROOT / client.program))
    answer = json.dumps({"memories": [FACT]})
    with Endpoint([Say("All done.")], without_tools=answer) as endpoint:
        machine.start(client, endpoint, f"{SAID}, say hello")
        address = {"ANTHROPIC_API_KEY": "none", "ANTHROPIC_BASE_URL": endpoint.address}
        made: list[str] = []
        for _ in range(60):
            # The hooks started a drain already; whichever comes first asks the model.
            machine.wellkept("spool", "drain", **address)
            rows = machine.json("list", "--type", "fact")["items"]
            made = [row["content"] for row in rows if row["author"] == "model:claude/haiku"]
            if made:
                break
    assert made == [FACT["content"]]
    assert len(machine.json("sessions")["items"]) == 1
    assert len(machine.json("list", "--type", "prompt")["items"]) == 1


def _files(folder: Path) -> set[Path]:
    return {path for path in folder.rglob("*") if path.is_file()}


def _text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8", "replace")
    except OSError:
        return ""
