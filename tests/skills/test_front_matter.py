"""Reading front matter: the part of YAML that skills use, safely, whatever is thrown at it."""

from __future__ import annotations

from typing import TypeAlias, cast

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from wellkept.skills.documents.front_matter import (
    MAX_HEAD_CHARS,
    Mapping,
    Node,
    Scalar,
    decode,
    read_mapping,
    split_document,
)

pytestmark = pytest.mark.feature("F1")

Plain: TypeAlias = "str | list[Plain] | dict[str, Plain]"


def plain(node: Node) -> Plain:
    """A node as plain Python values; every scalar is text."""
    if isinstance(node, Scalar):
        return node.text
    if isinstance(node, Mapping):
        return {entry.key: plain(entry.value) for entry in node.entries}
    return [plain(item) for item in node.items]


def read(text: str) -> tuple[Plain, list[str]]:
    """What a front matter says, and the codes of what is wrong with it."""
    mapping, findings = read_mapping(text.split("\n"), first_line=2)
    return plain(mapping), [found.code for found in findings]


class _TextLoader(yaml.BaseLoader):
    """PyYAML with every scalar as text."""


def by_pyyaml(text: str) -> Plain:
    return cast("Plain", yaml.load(text, Loader=_TextLoader))


SAMPLES = [
    "name: pdf\ndescription: Reads PDF files",
    "a: 'it''s'\nb: \"tab\\there \\u00e9 \\\\\"",
    "list:\n- one\n- two\nafter: x",
    "list:\n  - one\n  -   two\n  - [three, 'four']",
    'hooks:\n  PreToolUse:\n    - matcher: "Write|Edit"\n      hooks:\n        - type: command\n'
    "          command: |\n            echo one\n            echo two\n          once: true",
    "text: |\n  one\n\n  two\n    deeper\n",
    "text: |-\n  one\n  two\n\n",
    "text: |+\n  one\n\n\nnext: x",
    "text: >\n  one\n  two\n\n  three\n    deeper\n  four\n",
    "text: >-\n  folded\n  text",
    "text: |2\n    two more\n  less\n",
    "plain: goes on\n  and on\n\n  after an empty line\nnext: x",
    "description:\n  begins on\n  the next line",
    'quoted: "goes on\n  and on\n\n  further"',
    "a: [one, two,\n  three]\nb: {c: d, e: [f], g: }",
    "a: value # a comment\n# another\nb: no#comment",
    "'quoted key': x\n\"other key\": y",
    "url: http://host:80/path\ntime: 12:30",
    "empty:\nnext: ~",
    "nested:\n  deeper:\n    deepest: x\n  back: y",
    "- top: x".replace("- ", "items:\n- "),
    "items:\n  - - a\n    - b\n  - c: d\n    e: f\n  -\n    g: h",
    "a: [a: b, c]",
    "emoji: 🚀 launch\nchinese: 技能\nkey with space: x",
    "version: 1.10\nflag: yes\nnumber: 0x1F",
    "tools: Bash(git:*) Read",
    "question: what? yes!\nstar: 2 * 3\nand: a & b",
]


@pytest.mark.parametrize("text", SAMPLES)
def test_what_skills_use_is_read_as_other_readers_read_it(text: str) -> None:
    assert read(text) == (by_pyyaml(text), [])


@pytest.mark.parametrize(
    ("text", "said", "code"),
    [
        ("description: Use this: now", {"description": "Use this: now"}, "yaml-colon"),
        ("hint: [file] [options]", {"hint": "[file] [options]"}, "yaml-bracket"),
        ("hint: [never closed", {"hint": "[never closed"}, "yaml-bracket"),
        ('quote: "a" and "b"', {"quote": '"a" and "b"'}, "yaml-quote"),
        ('quote: "never closed\nnext: x', {"quote": '"never closed', "next": "x"}, "yaml-quote"),
        ('quote: "on the left\nmargin"\nb: x', {"quote": "on the left margin", "b": "x"}, "yaml-indent"),
        ("globs: *.py", {"globs": "*.py"}, "yaml-reference"),
        ("user: @somebody", {"user": "@somebody"}, "yaml-reserved"),
        ("a: 1\na: 2", {"a": "2"}, "yaml-twice"),
        ("a: 1\nnot a key\nb: 2", {"a": "1", "b": "2"}, "yaml-no-key"),
        ("a:\n\tb: 1", {"a": {"b": "1"}}, "yaml-tab"),
        ("a: 1\n   # fine\n  b: 2\nc: 3", {"a": "1", "c": "3"}, "yaml-indent"),
        ('a: "\\q"', {"a": "\\q"}, "yaml-escape"),
        ("a: &x 1\nb: *x", {"a": "1", "b": "*x"}, "yaml-reference"),
        ("a: !!python/object:os.system x", {"a": "x"}, "yaml-reference"),
        ("dash: - no list", {"dash": "- no list"}, "yaml-reserved"),
        ("a: [@x]", {"a": ["@x"]}, "yaml-reserved"),
    ],
)  # fmt: skip
def test_what_other_readers_refuse_is_read_as_it_was_meant_with_a_finding(
    text: str, said: Plain, code: str
) -> None:
    values, codes = read(text)
    assert values == said
    assert code in codes


def test_findings_name_the_line_in_the_file() -> None:
    _, findings = read_mapping(["name: x", "", "bad", "a: b: c"], first_line=2)
    assert [(found.code, found.line) for found in findings] == [
        ("yaml-no-key", 4),
        ("yaml-colon", 5),
    ]


def test_aliases_are_never_followed_so_that_a_bomb_stays_small() -> None:
    levels = [f"l{i}: &l{i} [{', '.join([f'*l{i - 1}'] * 9)}]" for i in range(1, 12)]
    values, codes = read("\n".join(["l0: &l0 [x]", *levels, "self: &self [*self]"]))
    assert set(codes) == {"yaml-reference"}
    assert len(str(values)) < 2_000


@pytest.mark.parametrize(
    "text",
    [
        "\n".join("  " * depth + "k:" for depth in range(2_000)),
        "k: " + "[" * 30_000,
        "k: " + "- " * 30_000,
        "\n".join(["- " * 500] * 50),
        "a: " + "{a: " * 8_000,
        "a: [" * 5_000,
        "\n".join([f'k{i}: "' for i in range(5_000)]),
        "k: " + " " * 60_000 + ":",
        "k: '" + "'" * 60_000,
        'k: "' + "\\" * 60_001 + '"',
        "\n".join(["k: |", *(" " * i + "x" for i in range(300))]),
    ],
)
def test_hostile_shapes_end_in_findings(text: str) -> None:
    read(text[:MAX_HEAD_CHARS])


ODD = st.text(alphabet=" \t\n\r-:#'\"[]{},&*!|>%@`?~\\ax1é技\u2028\ufeff", max_size=120)


@given(ODD)
def test_no_text_makes_the_reader_fail(text: str) -> None:
    lines = text.split("\n")
    mapping, _ = read_mapping(list(lines), first_line=2)
    assert all(0 <= e.first <= e.last < len(lines) for e in mapping.entries)


@given(ODD)
def test_what_is_read_without_a_finding_is_what_other_readers_read(text: str) -> None:
    """Where PyYAML takes a mapping of texts and we have nothing to say, we read the same."""
    lined = text.replace("\r", "").replace("\u2028", "").replace("\ufeff", "")
    values, codes = read(lined)
    try:
        theirs = by_pyyaml(lined + "\n")
    except (yaml.YAMLError, ValueError, TypeError):
        return
    if not codes and isinstance(theirs, dict) and "\t" not in lined:
        assert values == theirs


KEYS = st.text(alphabet="abcdefgh-_", min_size=1, max_size=8).filter(lambda key: key[0].isalpha())
# Spaces of other alphabets at the ends of a text are trimmed along with our own.
TEXTS = st.text(
    st.characters(exclude_categories=("Cs", "Cc", "Zs", "Zl", "Zp"), include_characters=" \n"),
    max_size=30,
)
VALUES = st.recursive(
    TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)


@given(
    st.dictionaries(KEYS, VALUES, min_size=1, max_size=5),
    st.sampled_from([None, False]),
    st.sampled_from([20, 80, 1000]),
)
def test_whatever_another_writer_writes_is_read_back(
    value: dict[str, Plain], flow: bool | None, width: int
) -> None:
    whole: dict[str, Plain] = {**value, "zz": {"a": ["x"]}}  # keeps the outermost out of braces
    text = yaml.safe_dump(whole, allow_unicode=True, default_flow_style=flow, width=width)
    values, codes = read(text.removesuffix("\n"))
    assert (values, codes) == (by_pyyaml(text), [])


@given(
    st.text(st.characters(exclude_categories=("Cs",)), max_size=200),
    st.sampled_from(["", "\ufeff"]),
)
def test_a_layout_put_together_again_is_the_document(text: str, mark: str) -> None:
    for whole in (mark + text, f"{mark}---\n{text}\n---\nbody", f"{mark}---\r\n{text}\r\n---\r\n"):
        assert split_document(whole).text == whole


def test_a_mark_and_windows_line_ends_do_not_show_in_what_is_read() -> None:
    layout = split_document("\ufeff---\r\nname: x\r\n---\r\nBody\r\nmore\r\n")
    assert (layout.head_lines, layout.plain_body) == (["name: x"], "Body\nmore")
    assert (layout.newline, layout.head_line, layout.body_line) == ("\r\n", 2, 4)


@pytest.mark.parametrize(
    ("text", "code"),
    [("---\nname: x\nno end", "fence"), ("---\n" + "a: b\n" * 20_000 + "---\n", "head-size")],
)
def test_a_front_matter_that_cannot_be_read_counts_as_body(text: str, code: str) -> None:
    layout = split_document(text)
    assert not layout.has_head
    assert [found.code for found in layout.findings] == [code]
    assert layout.body == text


@pytest.mark.parametrize(
    "data", [b"caf\xe9 au lait", "café".encode("utf-16"), b"nul \0 in it", b"\xff\xfe\x00"]
)
def test_other_encodings_are_a_finding_and_give_storable_text(data: bytes) -> None:
    text, findings = decode(data)
    assert [found.code for found in findings] == ["encoding"]
    assert "\0" not in text
    text.encode()
