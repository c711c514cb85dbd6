"""Text to rows of the table: identifiers, accents, scripts, and what no vocabulary holds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wellkept.models.embedders.bundled_models import STATIC
from wellkept.models.embedders.words import WordTokenizer, split_words

pytestmark = pytest.mark.feature("B4")

_SMALL = [
    "parse",
    "http",
    "response",
    "user",
    "id",
    "re",
    "#try",
    "#s",
    "größe",
    "grosse",
    "数据",
    "库",
]


@pytest.fixture(scope="module")
def small() -> WordTokenizer:
    return WordTokenizer(_SMALL)


@pytest.fixture(scope="module")
def shipped() -> WordTokenizer:
    entries = STATIC.vocabulary.locate().read_text(encoding="utf-8").split("\n")
    assert len(entries) == len(set(entries))
    return WordTokenizer(entries)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("parseHTTPResponse", ["parse", "http", "response"]),
        ("parse_http_response", ["parse", "http", "response"]),
        ("parse-http.response()", ["parse", "http", "response"]),
        ("UserID42", ["user", "id", "42"]),
        ("MAX_RETRIES", ["max", "retries"]),
        ("café Ångström", ["cafe", "angstrom"]),
        ("Größe", ["große"]),
        ("数据库config", ["数据库", "config"]),
        ("проверка кода", ["проверка", "кода"]),
        ("ｆｕｌｌ width", ["full", "width"]),
        ("!? -- ()", []),
        ("", []),
    ],
)
def test_words_are_split_where_people_see_them(text: str, words: list[str]):
    assert split_words(text) == words


def test_a_word_outside_the_vocabulary_is_spelled_with_its_longest_pieces(small: WordTokenizer):
    assert small.encode("retry") == [_SMALL.index("re"), _SMALL.index("#try")]
    assert small.encode("ids") == [_SMALL.index("id"), _SMALL.index("#s")]


def test_a_name_with_inner_capitals_is_one_word_when_it_is_known():
    words = WordTokenizer(["rabbit", "mq", "rabbitmq", "#x"])
    assert words.encode("RabbitMQ") == words.encode("rabbitmq") == [2]
    assert words.encode("RabbitRabbit") == [0, 0]


def test_scripts_without_spaces_are_matched_by_their_longest_entries(small: WordTokenizer):
    assert small.encode("数据库") == [_SMALL.index("数据"), _SMALL.index("库")]


def test_what_cannot_be_spelled_keeps_a_row_of_its_own(small: WordTokenizer):
    """Equal unknown text stays equal, and different text mostly differs."""
    rows = {text: tuple(small.encode(text)) for text in ("猫", "犬", "8088", "9099", "😀")}
    assert all(len(ids) == 1 and ids[0] >= len(_SMALL) for ids in rows.values())
    assert len(set(rows.values())) == len(rows)
    assert tuple(small.encode("猫")) == rows["猫"]


def test_a_very_long_word_is_cut_and_not_remembered(small: WordTokenizer):
    assert small.encode("user" * 50_000) == small.encode("user" * 12)


@given(st.text())
def test_no_text_raises_and_every_id_has_a_row(shipped: WordTokenizer, text: str):
    assert all(0 <= row < shipped.size for row in shipped.encode(text))


@given(st.lists(st.text(alphabet="abcXYZ_é数 1", min_size=1), min_size=1))
def test_the_ids_of_a_text_are_those_of_its_words(shipped: WordTokenizer, words: list[str]):
    joined = shipped.encode(" ".join(words))
    assert joined == [row for word in words for row in shipped.encode(word)]


@pytest.mark.parametrize(
    ("text", "share"),
    [
        ("which port does the server use", 1.0),
        ("blorp the snizzle flumox", 0.25),
        ("getUserName", 1.0),
        ("如何部署服务", 1.0),
        ("1234 ????", 1.0),
    ],
)
def test_the_share_of_known_words(shipped: WordTokenizer, text: str, share: float):
    assert shipped.known_share(text) == share
