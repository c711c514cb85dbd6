"""The plain-Python byte-pair tokenizer against the reference implementation."""

from __future__ import annotations

from pathlib import Path

import pytest
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st

from wellkept.core.errors import ProviderError
from wellkept.providers.embedders.bpe import BytePairTokenizer
from wellkept.providers.embedders.bundled_models import STATIC

pytestmark = pytest.mark.feature("B4")

_FILE = STATIC.vocabulary.locate()
_OURS = BytePairTokenizer.from_file(_FILE)
_REFERENCE = tokenizers.Tokenizer.from_file(str(_FILE))

_CODE_LIKE = st.text(alphabet="abcdefghijklmnopqrstuvwxyz  \n\t\r(){};:_<>=\"'0123456789ABC")
_INDENTED = st.lists(
    st.sampled_from(["x", "\n", "return", "(", "é", *(" " * n for n in range(40))])
)
_ANY = st.text(alphabet=st.characters(exclude_categories=["Cs"]))


def _expected(text: str) -> list[int]:
    return _REFERENCE.encode(text, add_special_tokens=False).ids


@given(st.one_of(_CODE_LIKE, _ANY, _INDENTED.map("".join)))
@settings(max_examples=400, deadline=None)
def test_ids_equal_those_of_the_reference_tokenizer(text: str):
    if not any(marker in text for marker in ("<s>", "</s>", "<unk>")):
        assert _OURS.encode(text) == _expected(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "      indented    code\n\n\treturn None  ",
        "记住：所有接口都要写单元测试。",
        "テストはpytestで実行する",
        "Les tests d'intégration exigent Docker.",
        "\x00 \ufffd 😀 naïve ▁▁ a▁b",
        " " * 100 + "x" + " " * 37,
        "a" * 3000,
        "给" * 2000,
        "const x = await fetch(`${url}/api`);\r\n",
    ],
)
def test_awkward_texts_equal_the_reference(text: str):
    assert _OURS.encode(text) == _expected(text)


def test_markers_in_the_text_are_ordinary_characters():
    assert 2 not in _OURS.encode("before </s> after")


def test_lone_surrogates_are_spelled_with_a_stand_in():
    byte_of_question_mark = 3 + ord("?")
    assert byte_of_question_mark in _OURS.encode("a \ud800 b")


def test_encoding_twice_gives_the_same_ids_from_the_cache():
    assert _OURS.encode("def well_kept():") == _OURS.encode("def well_kept():")


@pytest.mark.parametrize(
    "content", ["", '{"model": {"type": "WordLevel"}}', '{"vocab": {"a": 1}, "merges": []}']
)
def test_a_file_of_another_kind_is_refused(tmp_path: Path, content: str):
    other = tmp_path / "tokenizer.json"
    other.write_text(content, encoding="utf-8")
    with pytest.raises(ProviderError, match=r"tokenizer\.json is not a byte-pair"):
        BytePairTokenizer.from_file(other)
