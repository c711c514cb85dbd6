"""Every form of secret that the bench plants is found, and what only looks alike is kept."""

from __future__ import annotations

import base64
from itertools import groupby

import pytest

from bench.planted import PARTS, Plant, ordinary, plants
from wellkept.text.secrets.redaction import redact

pytestmark = pytest.mark.feature("A10")

PLANTED = [plant for part in PARTS for plant in plants(part)]
BY_KIND = {kind: list(some) for kind, some in groupby(PLANTED, key=lambda plant: plant.kind)}


def test_the_bench_plants_a_thousand_secrets_in_a_hundred_and_fifty_kinds() -> None:
    assert len(PLANTED) >= 1000
    assert len(BY_KIND) >= 150


@pytest.mark.parametrize("kind", BY_KIND)
def test_no_form_of_a_secret_survives(kind: str) -> None:
    shown = [plant for plant in BY_KIND[kind] if not plant.known]
    assert [plant.text for plant in shown if plant.left_in(redact(plant.text).text.lower())] == []


def test_the_numbers_of_a_listing_do_not_hide_a_value() -> None:
    for plant in BY_KIND["yaml-list-env"]:
        numbered = (f"{n:>6}\t{line}" for n, line in enumerate(plant.text.split("\n"), 7))
        assert not plant.left_in(redact("\n".join(numbered)).text.lower())


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
        "use pytest2 as the runner, and ruff3 as a linter",
        "| option | password | default |\n| --- | --- | --- |\n| auth | required | none |",
        "user,password\nSee the manual, chapter 3",
        "INSERT INTO users (name, password) VALUES (?, ?)",
        "INSERT INTO notes (title, body) VALUES ('Release 2', 'v1.2.3 is out')",
        "PASS src/app.test.ts\nPASS tests/test_login2.py",
        'const token = req.query.token || "";',
        "password: |\n",
        "password: |\n  Your password must have eight letters.",
        "LOGIN page2 is slow; AUTH is off",
        "hmac.new(key, body, hashlib.sha256)",
        "jwt.decode(token, settings.SECRET, algorithms=['HS256'])",
        "You can sign in as admin with your own account",
        "https://example.org/watch?key=value&code=200",
        "recovery codes are printed once",
        '{"d": "2026-01-01", "k": "short"}',
        base64.b64encode(b"an ordinary text without anything to hide").decode(),
    ],
)
def test_what_only_looks_alike_is_left_alone(text: str) -> None:
    assert redact(text).text == text


def test_of_a_cut_key_the_text_after_it_stays() -> None:
    key = "A1b2" * 16
    text = f"     1→-----BEGIN PRIVATE KEY-----\n     2→{key}\n     3→{key}\n\nThen I ran make.\n"
    assert redact(text).text == "     1→[redacted:private-key]\n\nThen I ran make.\n"


def test_ordinary_lines_are_left_alone() -> None:
    taken = [line for line in ordinary() if redact(line).changed]
    assert taken == []


def test_a_secret_is_found_however_many_words_speak_of_secrets_before_it() -> None:
    text = "token=" * 50_000 + "\npassword is tiger4711"
    kept = redact(text).text
    assert kept == text.replace("tiger4711", "[redacted:password]")
    assert redact(kept).text == kept


def _kinds_of(planted: list[Plant]) -> set[str]:
    return {plant.kind for plant in planted}


def test_each_part_has_kinds_of_its_own() -> None:
    kinds = [kind for part in PARTS for kind in _kinds_of(plants(part))]
    assert len(kinds) == len(set(kinds))
