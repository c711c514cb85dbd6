"""Every form of secret that the bench plants is found, and text too dense to judge is not kept."""

from __future__ import annotations

import base64
from itertools import groupby

import pytest

from bench.planted import HALVES, Plant, plants
from wellkept.memory.text.redaction import redact

pytestmark = pytest.mark.feature("A10")

PLANTED = [plant for half in HALVES for plant in plants(half)]
BY_KIND = {kind: list(some) for kind, some in groupby(PLANTED, key=lambda plant: plant.kind)}


def test_the_bench_plants_a_thousand_secrets_in_a_hundred_and_fifty_kinds() -> None:
    assert len(PLANTED) >= 1000
    assert len(BY_KIND) >= 150


@pytest.mark.parametrize("kind", BY_KIND)
def test_no_form_of_a_secret_survives(kind: str) -> None:
    shown = [plant for plant in BY_KIND[kind] if not plant.known]
    assert [plant.text for plant in shown if plant.left_in(redact(plant.text).text.lower())] == []


@pytest.mark.parametrize("before", ["", "I ran this:\n", '{"text": "', "- "])
@pytest.mark.parametrize("kind", ["mysql-attached", "pass-key", "url-password", "pem-numbered"])
def test_what_stands_before_a_secret_does_not_hide_it(kind: str, before: str) -> None:
    for plant in BY_KIND[kind]:
        assert not plant.left_in(redact(f"{before}{plant.text}\nand so on").text.lower())


@pytest.mark.parametrize(
    "text",
    [
        "docker run -p 8080:80 nginx",
        "mysql -u root -p shop",
        "ssh -p 2222 host",
        "mkdir -p a/b/c",
        'redis-cli -a "$REDIS_PASS" ping',
        "PASS: test_login2",
        "tests pass: 12, fail: 1",
        "def test(password: str | None = None) -> str: ...",
        "the password for staging is required",
        "Authorization: the caller must be logged in",
        "auth = (user, password)",
        "curl -u $USER:$PASS https://a.local",
        'variable "db_password" {\n  type = string\n}',
        "token is expired, get a new one",
        "-----BEGIN CERTIFICATE-----\nMIIBszCCAVmgAwIBAgIUQ2\n-----END CERTIFICATE-----",
        "echo done | sudo tee /etc/motd",
        "kind: ConfigMap\ndata:\n  mode: production-like\n",
        base64.b64encode(b"an ordinary text without anything to hide").decode(),
    ],
)
def test_what_only_looks_alike_is_left_alone(text: str) -> None:
    assert redact(text).text == text


def test_of_a_cut_key_the_text_after_it_stays() -> None:
    key = "A1b2" * 16
    text = f"     1→-----BEGIN PRIVATE KEY-----\n     2→{key}\n     3→{key}\n\nThen I ran make.\n"
    assert redact(text).text == "     1→[redacted:private-key]\n\nThen I ran make.\n"


def test_a_text_too_dense_to_judge_is_not_kept() -> None:
    text = "token=" * 50_000 + "\npassword is tiger4711"
    kept = redact(text).text
    assert "tiger4711" not in kept
    assert "[redacted:dense]" in kept
    assert redact(kept).text == kept


def _kinds_of(planted: list[Plant]) -> set[str]:
    return {plant.kind for plant in planted}


def test_both_halves_have_kinds_of_their_own() -> None:
    development, heldout = (_kinds_of(plants(half)) for half in HALVES)
    assert not development & heldout
