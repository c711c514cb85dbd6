"""Pages of documentation with front matter: title - description, heading - text, next sentence."""

from __future__ import annotations

import re
from collections.abc import Iterator

from scripts.train_embedder.pairs import Pair, document_pairs, plain

_FRONT = re.compile(r"\A\ufeff?---\s*\n(.*?)\n---\s*\n", re.S)
_FIELD = re.compile(r"^(title|description|intro|summary|metaTitle):\s*[>|-]*\s*(.+)$", re.M)
_TEMPLATE = re.compile(
    r"\{%.*?%\}|\{\{.*?\}\}|^import [^\n]*$|^:::[^\n]*$|^>?[^\S\n]*\[![^\n]*$|<!--.*?-->|\{#.*?\}",
    re.M | re.S,
)
_SITE = re.compile(r"\s*[-|]\s*(\.NET|C#|Azure.*|Visual Studio.*|Microsoft.*|PowerShell)\s*$")


def page_pairs(source: str) -> Iterator[tuple[str, Pair]]:
    """The pairs of one page of documentation with front matter."""
    front = _FRONT.match(source)
    fields = {k: _unmarked(v) for k, v in _FIELD.findall(front.group(1))} if front else {}
    title = _SITE.sub("", fields.get("title", ""))
    about = fields.get("description") or fields.get("intro") or fields.get("summary") or ""
    if told(title, 2) and told(about, 5) and not about.startswith("Learn more about:"):
        yield "title", (title, about[:300])
    body = _TEMPLATE.sub(" ", source[front.end() :] if front else source)
    head = f"# {title}\n\n" if title else ""
    for kind, pair in document_pairs(head + body):
        yield ("page" if kind == "heading" else "next"), pair


def _unmarked(text: str) -> str:
    return plain(_TEMPLATE.sub(" ", text)).strip("\"' ")


def told(text: str, words: int) -> bool:
    """Whether a text has so many words and no template is left in it."""
    return len(text.split()) >= words and "{" not in text
