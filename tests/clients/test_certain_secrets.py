"""What the hook takes out before the first write, by literals alone."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.clients.hooking import Machine
from wellkept.clients.certain_secrets import PREFIXES, without_certain
from wellkept.text.secrets.redaction import redact

pytestmark = pytest.mark.feature("A10", "C2")

_BODY = "Zk3Qm9Xw2Lp7Rt5Vb8Ny4Hc6Jd1Fg0SaTeUiOoPqWxYzKlMnBvCcDd"
_KEY = "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nIBAAKC\n-----END RSA PRIVATE KEY-----"


@pytest.mark.parametrize("prefix", [one.decode() for one, _ in PREFIXES])
@pytest.mark.parametrize("around", ["use {}", "key:\n{}\n", '"{}"', "T={}"])
def test_a_token_with_its_providers_prefix_is_not_written(prefix: str, around: str) -> None:
    text = around.format(f"{'B' if prefix == 'earer ' else ''}{prefix}{_BODY}")
    safe = without_certain(json.dumps({"prompt": text}).encode())
    assert _BODY[:16].encode() not in safe
    assert json.loads(safe)["prompt"].startswith(text[: text.index(prefix)])


@pytest.mark.parametrize(
    "text",
    [_KEY, "postgresql://ann:hunter2hunter2@db.test/x", "a <private>hunter2hunter2</private> b"],
)
def test_keys_passwords_in_addresses_and_private_parts_are_not_written(text: str) -> None:
    safe = without_certain(json.dumps({"prompt": text}).encode())
    assert b"hunter2" not in safe
    assert b"MIIEow" not in safe
    assert "prompt" in json.loads(safe)


@pytest.mark.parametrize(
    "text",
    [
        "the sk-ant- prefix, npm_config_cache and hf_hub",
        "see https://example.test:8080/a@b and git@host:repo",
        "-----BEGIN CERTIFICATE-----",
        "an unclosed <private> part",
        "my_ghp_" + _BODY,
    ],
)
def test_ordinary_text_is_written_as_it_is(text: str) -> None:
    payload = json.dumps({"prompt": text}).encode()
    assert without_certain(payload) == payload


@given(st.binary(max_size=400), st.sampled_from([one for one, _ in PREFIXES]))
def test_any_bytes_are_taken(noise: bytes, prefix: bytes) -> None:
    for payload in (noise, noise + prefix + noise, b"://" + noise + b"@" + noise):
        safe = without_certain(payload)
        assert without_certain(safe) == safe


def test_what_was_taken_out_stays_out_when_drained() -> None:
    safe = without_certain(f"token ghp_{_BODY}".encode()).decode()
    assert redact(safe).text == safe


def test_the_hook_writes_no_token(machine: Machine) -> None:
    machine.hook("claude-code", "UserPromptSubmit", payload=machine.payload(prompt=f"ghp_{_BODY}"))
    (left,) = machine.spool.glob("*.spool")
    assert _BODY.encode() not in left.read_bytes()
    assert b"[redacted:token]" in left.read_bytes()
