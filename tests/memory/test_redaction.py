"""Secrets never stored: a planted secret never survives, and nothing else is taken."""

from __future__ import annotations

import random
import string
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bench import redaction as bench
from wellkept.core.errors import UsageError
from wellkept.text.secrets.formats import use_rules
from wellkept.text.secrets.redaction import PRIVATE, Finding, redact

pytestmark = pytest.mark.feature("A10")

CORPUS = bench.load()
FIGURES = bench.quality(CORPUS)
SHAPES = bench.shapes()
# These have no shape of their own; only the name beside them gives them away.
NAMED_ONLY = {
    "aws-secret",
    "azure-account",
    "random-hex",
    "random-32",
    "random-64",
    "uuid",
    "password",
}
OWN_SHAPE = sorted(set(SHAPES) - NAMED_ONLY)

seeds = st.integers(0, 2**32)
prose = st.text(
    alphabet=st.sampled_from(
        string.ascii_letters + string.digits + " .,:;=\"'\n\t/<>(){}[]@#$%&-_éß密码は"
    ),
    max_size=80,
)


def test_the_corpus_is_large_and_holds_as_much_to_leave_alone_as_to_take() -> None:
    assert FIGURES["texts"] >= 300
    assert FIGURES["texts_without_secrets"] >= 150


def test_precision_and_recall_stay_above_their_floors() -> None:
    assert FIGURES["precision"] >= 0.99
    assert FIGURES["recall"] >= 0.99


@pytest.mark.parametrize("planted", [p for p in CORPUS if not p.secrets], ids=lambda p: p.text[:40])
def test_what_is_no_secret_is_left_as_it_is(planted: bench.Planted) -> None:
    assert redact(planted.text).text == planted.text


@given(
    st.sampled_from(OWN_SHAPE), seeds, prose, prose, st.sampled_from([" ", "\n", '"', "(", "，"])
)
def test_a_planted_secret_never_survives(
    name: str, seed: int, before: str, after: str, edge: str
) -> None:
    secret = bench.fill(SHAPES[name], random.Random(seed))
    planted = bench.Planted(f"{before}{edge}{secret}{edge}{after}", (secret,))
    assert bench.leaks(planted, redact(planted.text)) == []


NAMED_FRAMES = [
    "password = '{}'",
    '{{"password": "{}"}}',
    "DB_PASSWORD={}",
    "api_key: {}",
    "--client-secret {}",
    "postgres://app:{}@db/x",
    "Authorization: Bearer {}",
    "SECRET_KEY='{}'",
    "<password>{}</password>",
]


@given(st.sampled_from(NAMED_FRAMES), seeds, prose, prose)
def test_a_secret_told_by_its_name_never_survives(
    frame: str, seed: int, before: str, after: str
) -> None:
    secret = bench.fill(SHAPES["random-32"], random.Random(seed))
    planted = bench.Planted(f"{before}\n{frame.format(secret)}\n{after}", (secret,))
    assert bench.leaks(planted, redact(planted.text)) == []


fake_secrets = st.tuples(st.sampled_from(sorted(SHAPES)), seeds).map(
    lambda drawn: bench.fill(SHAPES[drawn[0]], random.Random(drawn[1]))
)
fragments = st.sampled_from(
    "password|token=|secret: |<private>|</private>|[redacted:|]|://a:|@|eyJ".split("|")
)
pieces = st.one_of(prose, fragments, fake_secrets)


@given(st.lists(pieces, max_size=8).map("".join))
@example("<pri<private>x</private>vate>y")
@example("<private <private>x</private> >y")
@example("[redacted:password] = abc12345")
@example("AKIA" * 30)
def test_redacting_twice_is_redacting_once(text: str) -> None:
    once = redact(text).text
    assert redact(once).text == once


@given(st.lists(pieces, max_size=8).map("".join))
def test_findings_are_disjoint_in_order_and_the_rest_is_kept(text: str) -> None:
    redacted = redact(text)
    at, rest = 0, redacted.text
    for finding in redacted.findings:
        assert at <= finding.start < finding.end <= len(text)
        kept = text[at : finding.start]
        assert rest.startswith(kept)
        mark = "" if finding.rule == PRIVATE else f"[redacted:{finding.rule}]"
        rest = rest[len(kept) :].removeprefix(mark)
        if finding.rule == PRIVATE and not rest.startswith(text[finding.end : finding.end + 1]):
            rest = rest.removeprefix(" ")
        at = finding.end
    assert rest.strip() == text[at:].strip()


@given(st.text(max_size=300))
def test_any_text_can_be_redacted(text: str) -> None:
    redact(text)


def test_private_parts_are_dropped_nested_with_attributes_and_in_any_case() -> None:
    text = 'keep <Private why="x">a <private>b</private> c</PRIVATE> this'
    assert redact(text).text == "keep  this"
    assert [f.rule for f in redact(text).findings] == [PRIVATE]


def test_an_unclosed_private_part_covers_its_paragraph() -> None:
    assert redact("keep <private>all of this\nand that").text == "keep "
    text = "keep <private>all of this\nand that\n\nand the rest"
    assert redact(text).text == "keep \n\nand the rest"


@pytest.mark.parametrize(
    "line",
    [
        "make target-100",
        "git checkout feature/auth-token-v2",
        "git push origin fix/login-500-error",
        "All checks pass on `44d2256`",
        "curl -fsS http://localhost:8080/healthz",
        "a61506c fix: token refresh on reconnect",
        "privateKey: Uint8Array;",
        "toolu_0ekoeiv4F9mZGYT5JUVjlhPt",
        "Passwort vergessen? Hier klicken.",
        "Verify API Spec\tpass\t37s",
    ],
)
def test_lines_of_sessions_stay_as_they_are(line: str) -> None:
    assert redact(line).text == line


def test_what_is_only_likely_a_secret_goes_from_what_is_shown() -> None:
    text = "signed in to Falcon-2231"
    assert redact(text).text == text
    assert "Falcon-2231" not in redact(text, shown=True).text


def test_a_file_of_rules_adds_formats(tmp_path: Path) -> None:
    rules = tmp_path / "secret_rules.toml"
    rules.write_text("[[rules]]\nid = 'acme'\nregex = 'acme_[a-z0-9]{8}'\nkeywords = ['acme_']\n")
    use_rules(rules)
    assert redact("it says acme_a1b2c3d4 here").text == "it says [redacted:acme] here"
    use_rules(tmp_path / "none.toml")
    assert not redact("it says acme_a1b2c3d4 here!").changed
    rules.write_text("[[rules]]\nid = 'acme'\nregex = '('\nkeywords = ['acme_']\n")
    with pytest.raises(UsageError):
        use_rules(rules)


def test_dropping_a_private_part_does_not_glue_words_together() -> None:
    assert redact("one<private>x</private>two").text == "one two"


def test_a_stray_closing_mark_goes_too() -> None:
    assert redact("one </private> two").text == "one  two"


def test_other_words_that_begin_with_private_are_not_marks() -> None:
    text = "<private-network>10.0.0.0/8</private-network> and <privates>"
    assert redact(text).text == text


def test_findings_point_into_the_text_as_given() -> None:
    text = "<private>x</private> password = 'tiger42' end"
    redacted = redact(text)
    assert redacted.findings[0] == Finding(PRIVATE, 0, 20)
    secret = redacted.findings[1]
    assert text[secret.start : secret.end] == "tiger42"
    assert redacted.text == " password = '[redacted:password]' end"


def test_a_value_longer_than_the_look_ahead_leaves_no_tail() -> None:
    value = bench.fill("<b62:3000>", random.Random(3))
    assert redact(f"token={value}").text == "token=[redacted:token]"
    assert value[-20:] not in redact(f'secret = "{value}"').text


def test_a_cut_private_key_is_taken_and_the_prose_after_it_is_kept() -> None:
    key = bench.fill(SHAPES["pem-cut"], random.Random(5))
    assert (
        redact(f"{key}\nand then I ran make").text == "[redacted:private-key]\nand then I ran make"
    )


SOURCES = sorted((Path(__file__).parents[2] / "packages").glob("*/src/**/*.py"))
assert len(SOURCES) > 100


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.name)
def test_nothing_is_taken_from_ordinary_code(source: Path) -> None:
    found = redact(source.read_text(encoding="utf-8")).findings
    assert [f for f in found if f.rule != PRIVATE] == []


HOSTILE = [
    "token=", "eyJ-", "ghp_", "://a:", "cookie:", "password ", "<private>", "-----BEGIN PRIVATE KEY-----",
    "AKIA", "token/", "secret='", "bearer a", "a.b", '"password":"', "sig=", "密码", "machine a login ",
    "accesskey", "access_key_", "token1", "secret_value_",
]  # fmt: skip


@pytest.mark.parametrize("tail", ["1" * 64 + "#", "key" * 30_000 + "#", "_val1" * 20_000 + "#"])
def test_what_may_follow_a_telling_word_is_not_tried_in_endless_ways(tail: str) -> None:
    text = f"token{tail}"
    assert redact(text).text == text


@pytest.mark.parametrize("unit", HOSTILE)
def test_the_work_grows_with_the_text_and_not_with_its_square(unit: str) -> None:
    small, large = (redact(unit * (size // len(unit))).places for size in (200_000, 800_000))
    assert large <= 5 * max(small, 1)


def test_a_megabyte_of_mixed_hostile_text_is_redacted_to_the_end() -> None:
    text = "".join(HOSTILE).replace("<private>", "") * 8_000
    assert len(text) > 800_000
    secret = bench.fill(SHAPES["github-classic"], random.Random(1))
    assert secret not in redact(f"{text}\n {secret}").text


@pytest.mark.parametrize(
    "key",
    [
        "sk-ant-" + "api03-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGH",
        "sk-" + "proj-abcdefghijklmnopqrstuvwxyz0123456789",
        "sk-" + "abcdefghijklmnopqrstuvwxyz123456",
        "AKIA" + "IOSFODNN7EXAMPLE",
    ],
)
def test_a_key_with_a_vendors_prefix_goes_even_when_it_looks_made_up(key: str) -> None:
    assert key not in redact(f"use {key} here").text


@pytest.mark.feature("A10")
@pytest.mark.parametrize(
    "line",
    [
        r"bash -c 'sshpass -p '\''Hunter2Winter!'\'' ssh db'",
        r"sh -c 'echo '\''root:Hunter2Winter!'\'' | chpasswd'",
        r"psql -c 'ALTER USER app WITH PASSWORD '\''Hunter2Winter!'\'''",
        r"{'command': 'gpg --passphrase '\\''Hunter2Winter!'\\'' -d x'}",
    ],
)
def test_secrets_that_a_shell_quoted_again_are_found(line: str) -> None:
    shown = redact(line)
    assert "Hunter2" not in shown.text
    assert not redact(shown.text).changed
    plain = r"echo 'it'\''s fine' && printf '%s' 'don'\''t'"
    assert redact(plain).text == plain
