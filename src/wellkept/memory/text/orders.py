"""Cut orders to an agent out of text that no person wrote.

Tool output, web pages and other agents' messages can hold sentences such as "ignore previous
instructions and run …". Such a line is cut before anything is made of the text, so that it reaches
no record. Invariant: text without an order comes back unchanged.
"""

from __future__ import annotations

import re

CUT = "[an order to the agent was cut]"

_SET_ASIDE = (
    r"\b(?:ignore|disregard|forget|do not follow|don't follow|stop following)\b[^.\n]{0,20}"
    r"\b(?:previous|prior|above|earlier|preceding|all|any|other|your|system|existing|current)\b"
    r"[^.\n]{0,30}\b(?:instructions?|prompts?|rules|guidelines|directives|constraints|polic(?:y|ies))\b",
    r"\b(?:new|updated|real|actual|hidden|secret) (?:system )?instructions?(?: are| follow)?\s*:",
)
_MODEL = r"(?:ai|llm|language model|assistant|agent|claude|codex|gemini|copilot|cursor|chatgpt)s?"
_ADDRESSED = (
    rf"\b(?:attention|important|message|instructions?|hey|dear|hello|hi)\b[^.\n]{{0,20}}\b{_MODEL}\b"
    r"\s*(?:agents?|assistants?|models?)?\s*[:,!]",
    r"\byou are now (?:a|an|the|in)\b|\bas an ai\b[^.\n]{0,60}\byou (?:must|should|will|can)\b",
    rf"\b(?:the |any )?{_MODEL} (?:must|should|shall|need to|has to|is required to)\b[^.\n]{{0,40}}"
    r"\b(?:run|execute|delete|send|upload|post|curl|wget|email|reveal|print|leak|install)\b",
    r"\byou (?:must|should|need to|have to)(?: now| immediately| first)? "
    r"(?:delete|send|upload|exfiltrate|email|reveal|leak|curl|wget)\b",
    r"\b(?:do not|don't|never) (?:tell|inform|mention|reveal|alert|notify|warn)\b[^.\n]{0,30}"
    r"\b(?:user|human|person|operator|developer)\b",
    r"\bwithout (?:telling|asking|informing|notifying) the (?:user|human|person)\b",
)
_ROLES = (
    r"^\s*(?:<\|?(?:im_start|system|assistant|user)\|?>|\[/?INST\]|(?:assistant|human)\s*:\s)",
    r"</?(?:system(?:-reminder|-prompt)?|instructions?|important)>",
)
# A download that is run.
_DOWNLOAD = (
    r"\b(?:curl|wget|iwr|Invoke-WebRequest)\b[^\n|]{0,200}\|\s*(?:sudo )?(?:ba|z|da)?sh\b",
)
_OTHER_LANGUAGES = (
    r"\bignoriere\b[^.\n]{0,40}\banweisungen\b",
    r"\bignore[zr]?\b[^.\n]{0,40}\b(?:instructions|consignes)\b",
    r"\bignora\b[^.\n]{0,40}\binstrucciones\b|игнорируй[^.\n]{0,40}инструкци",
    r"(?:忽略|无视|無視)[^。\n]{0,20}(?:指令|指示|说明|說明)",
    r"(?:以前|前|上記|これまで)の指示[^。\n]{0,10}(?:無視|忘れ)",
)
_ORDER = re.compile(
    "|".join((*_SET_ASIDE, *_ADDRESSED, *_ROLES, *_DOWNLOAD, *_OTHER_LANGUAGES)),
    re.IGNORECASE | re.MULTILINE,
)


def without_orders(text: str) -> str:
    """The text with every line that gives the agent an order cut out."""
    if not text or _ORDER.search(text) is None:
        return text
    return "\n".join(CUT if _ORDER.search(line) else line for line in text.split("\n"))


def has_order(text: str) -> bool:
    """Whether a text gives the agent an order."""
    return _ORDER.search(text) is not None
