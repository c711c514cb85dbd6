"""What a server's tool or prompt gives back, as text and pictures of bounded size."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import mcp_types as types

from wellkept.core.chat.messages import ImagePart
from wellkept.core.text import clean
from wellkept_agent.tools.base import ToolOutput

if TYPE_CHECKING:
    from collections.abc import Sequence

_IMAGES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_MAX_IMAGE_CHARS = 7_000_000
_MAX_IMAGES = 8


def tool_output(result: types.CallToolResult, *, max_chars: int) -> ToolOutput:
    """A result for the model; pictures that models take stay pictures."""
    texts: list[str] = []
    images: list[ImagePart] = []
    for block in result.content:
        if isinstance(block, types.ImageContent) and _fits(block, images):
            images.append(ImagePart(block.data, block.mime_type))
        else:
            texts.append(_text(block))
    if not any(texts) and result.structured_content is not None:
        texts = [json.dumps(result.structured_content, ensure_ascii=False, default=str)]
    content = bounded("\n".join(texts), max_chars)
    if not content.strip():
        content = "[image]" if images else "[no output]"
    return ToolOutput(content=content, is_error=bool(result.is_error), images=tuple(images))


def prompt_text(result: types.GetPromptResult, *, max_chars: int) -> str:
    """A prompt as one text; turns of the other side are marked."""
    parts: list[str] = []
    for message in result.messages:
        text = _text(message.content)
        parts.append(f"[assistant]\n{text}" if message.role == "assistant" else text)
    return bounded("\n\n".join(parts), max_chars)


def bounded(text: str, limit: int) -> str:
    """Text that can be stored and is not longer than the limit; the middle is left out."""
    text = clean(text)
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}\n[{len(text) - limit:,} characters left out]\n{text[-half:]}"


def _fits(block: types.ImageContent, images: Sequence[ImagePart]) -> bool:
    is_small = len(block.data) <= _MAX_IMAGE_CHARS and len(images) < _MAX_IMAGES
    return block.mime_type in _IMAGES and is_small


def _text(block: Any) -> str:
    match block:
        case types.TextContent(text=text):
            return text
        case types.ImageContent(mime_type=kind) | types.AudioContent(mime_type=kind):
            return f"[{kind}, {len(block.data):,} characters; not shown]"
        case types.EmbeddedResource(resource=types.TextResourceContents(uri=uri, text=text)):
            return f"[{uri}]\n{text}"
        case types.EmbeddedResource(resource=resource):
            return f"[{resource.uri}: not text]"
        case types.ResourceLink(uri=uri, name=name, description=description):
            return " ".join(filter(None, [f"[{name}: {uri}]", description]))
        case _:
            return f"[{type(block).__name__}]"
