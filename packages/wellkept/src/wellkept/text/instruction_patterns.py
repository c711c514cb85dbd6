"""Patterns of text that is written for an agent, each with marks one of which such text holds.

Looking for marks is far cheaper than compiling a pattern, and ordinary text has none of most of
them. Data only.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class _InstructionPattern(NamedTuple):
    """What text is said to do, marks in lower case, and the pattern."""

    reason: str
    marks: tuple[str, ...]
    pattern: re.Pattern[str]


_TAKES_BACK = "takes back instructions"
_ROLE = "speaks in another role"
_TASK = "tells the agent who it is or what to do next"
_TO_AI = "speaks to an AI"
_SECRECY = "asks for secrecy or for secrets"
_CODE = "runs code from elsewhere, or deletes everything"

_OLD = (
    r"(?:previous|prior|earlier|above|preceding|foregoing|existing|original|former|past|initial"
    r"|system|safety|security)"
)
_RULES = (
    r"(?:instructions?|rules?|prompts?|messages?|guidelines?|directions?|directives?|commands?"
    r"|polic(?:y|ies)|constraints?|guardrails?|training|context)"
)
_FEW = r"(?:\w+\s+){0,4}?"
_ACTS = (
    r"(?:ignore|run|execute|send|post|upload|delete|call|open|fetch|visit|reply|respond|answer|act"
    r"|install|output|print|disregard|push|commit|read|write|use|obey)"
)
_AI = (
    r"(?:ai|llms?|ai agents?|ai assistants?|coding (?:agents?|assistants?)|language models?"
    r"|assistants? reading|chatbots?)"
)
_MODEL = r"(?:ai|llm|language model|assistant|agent|claude|codex|gemini|copilot|cursor|chatgpt)s?"


def _rule(reason: str, marks: str, *alternatives: str) -> _InstructionPattern:
    pattern = re.compile("|".join(alternatives), re.IGNORECASE)
    return _InstructionPattern(reason, tuple(filter(None, marks.split("|"))), pattern)


PATTERNS: tuple[_InstructionPattern, ...] = (
    _rule(
        _TAKES_BACK,
        "ignor|disregard|forget|overrid|bypass|discard|dismiss",
        r"\b(?:ignor(?:e|ing)|disregard(?:ing)?|forget(?:ting)?|overrid(?:e|ing)|bypass(?:ing)?"
        rf"|discard|dismiss)\s+{_FEW}{_OLD}\s+(?:\w+\s+){{0,2}}?{_RULES}",
        r"\b(?:ignore|disregard|forget|discard)\s+(?:all|every|any|everything)\s+"
        rf"(?:\w+\s+){{0,3}}?(?:{_RULES}|above|before|you (?:were|have been) told)\b",
    ),
    _rule(
        _TAKES_BACK,
        "ignorier|vergiss|vergessen|missachte|negeer|vergeet",
        r"\b(?:ignorier\w*|vergiss|vergessen sie|missachte\w*)\s+"
        rf"{_FEW}(?:anweisung|instruktion|regel|vorgabe)\w*",
        rf"\b(?:negeer|vergeet)\s+{_FEW}(?:instructies|regels|aanwijzingen)",
    ),
    _rule(
        _TAKES_BACK,
        "instru|istru|consigne|directive|règles|reglas|indicaciones|regras|ordens|regole|direttive",
        rf"\b(?:ignor\w*|oubli\w*|néglige\w*)\s+{_FEW}(?:instructions|consignes|directives|règles)"
        r"\s+(?:\w+\s+){0,2}?(?:précédent|antérieur|ci-dessus|système)\w*",
        rf"\b(?:ignor\w*|olvid\w*|descart\w*)\s+{_FEW}(?:instrucciones|reglas|indicaciones)",
        rf"\b(?:ignor\w*|esque[çc]\w*|desconsider\w*)\s+{_FEW}(?:instruções|regras|ordens)",
        rf"\b(?:ignor\w*|dimentic\w*)\s+{_FEW}(?:istruzioni|regole|direttive)",
    ),
    _rule(
        _TAKES_BACK,
        "игнорируй|забудь|пренебреги",
        rf"(?:игнорируй|забудь|пренебреги)\w*\s+{_FEW}(?:инструкц|указани|правил)\w*",
    ),
    _rule(
        _TAKES_BACK,
        "忽略|无视|無視|忘|不要理会|무시|잊",
        r"(?:忽略|无视|無視|忘记|忘掉|不要理会)[^。\n]{0,12}(?:指令|指示|说明|說明|提示|规则|規則|要求)",
        r"(?:指示|命令|ルール|指令)(?:を|は)?[^。\n]{0,8}(?:無視|忘れ)",
        r"(?:지시|명령|지침)[^.\n]{0,8}(?:무시|잊)",
    ),
    _rule(
        _ROLE,
        "system|assistant|developer|user|human|inst]|<<sys|im_start|im_end|endoftext|instruction"
        "|begin admin",
        r"(?:\A|\n|[.!?>\]]\s*)\s*[#*>\[(]*\s*(?:system|assistant|developer|user|human)"
        r"(?: (?:message|prompt|note|override))?[\])*]*\s*:\s*"
        r"(?:you\b|ignore\b|disregard\b|always\b|never\b|must\b|now\b|please\b|do not\b|don't\b"
        r"|run\b|execute\b|reveal\b|override\b|from now\b|new\b|sure\b|i will\b"
        r"|the (?:user|assistant|agent|model)\b)",
        r"\[/?INST\]|<<SYS>>|<\|(?:im_start|im_end|system|user|assistant|endoftext)\|?>?",
        r"#{2,}\s*(?:new |system )?instructions?\s*:",
        r"\bBEGIN (?:SYSTEM|ADMIN) (?:PROMPT|MESSAGE|OVERRIDE)",
    ),
    _rule(
        _TASK,
        "you ",
        r"\b(?:when(?:ever)?|if|once|before|after|as soon as) you (?:read|see|find|load) this\b",
    ),
    _rule(
        _TASK,
        "you |from now|act as|behave as|respond as|pretend|your |the new|the real|the true"
        "|the actual|the updated|new instr|new order|new system|developer mode|jailbreak|dan mode",
        r"\byou are (?:now|no longer) (?:an?|the|in|my|our|free|allowed|acting|operating)\b",
        r"\bfrom now on,? (?:you|respond|answer|act|ignore)\b",
        r"\byou (?:must|should|have to|need to|will|shall) (?:now|immediately|instead|first) "
        rf"{_ACTS}\b",
        r"\b(?:act|behave|respond) as (?:if you|an? (?:unrestricted|admin|root|evil))\b",
        r"\bpretend (?:to be|that you|you are)\b",
        r"\b(?:your|the) (?:new|real|true|actual|updated) (?:task|instructions?|goal|role"
        r"|objective|orders?|mission|system prompt)\b",
        r"\bnew (?:instructions?|orders?|system prompt)(?: (?:for you|from|follow)|:)",
        r"\bdeveloper mode\b|\bjailbreak\b|\bDAN mode\b",
    ),
    _rule(
        _TASK,
        "du |tu |vous |ahora|debes|tienes|ora |agora|теперь|ты |你|あなた|지금부터",
        r"\bdu (?:bist|musst|sollst) (?:jetzt|nun|ab sofort)\b",
        r"\bab (?:jetzt|sofort) (?:bist|musst|sollst) du\b",
        r"\b(?:tu es|vous êtes) (?:désormais|maintenant)\b",
        r"\b(?:tu dois|vous devez) (?:maintenant|désormais|exécuter)\b",
        r"\bahora (?:eres|debes)\b|\b(?:debes|tienes que) ahora\b|\bora (?:sei|devi)\b",
        r"\bagora você (?:é|deve)\b|теперь ты\b|ты должен (?:теперь|сейчас)",
        r"你现在(?:是|必须|要)|你必须(?:现在|立即)|あなたは(?:今|これ)から|지금부터 (?:너|당신)",
    ),
    _rule(
        _TO_AI,
        " ai|ai |ai:|ai,|ai.|ai!|llm|agent|assistant|claude|gpt|copilot|gemini|codex|cursor|model"
        "|bot",
        r"\b(?:if|when) you(?:'re| are) (?:an? )?(?:ai|llm|agent|assistant|bot|language model"
        r"|coding (?:agent|assistant)|automated)\b",
        r"\b(?:note|message|attention|warning|important|hint|instructions?)\s*(?:to|for|:|,)?\s*"
        rf"(?:all |any |the )?{_AI}\b\s*[:,.!-]",
        r"\b(?:dear|hey|hello|hi|ok|okay),? (?:ai|assistant|agent|claude|gpt|chatgpt|copilot"
        r"|gemini|codex|cursor|llm|model)\b",
        r"(?:\A|[.!?\n]\s*)(?:claude|chatgpt|gpt-?\d?|copilot|gemini|codex|assistant|agent|ai)"
        r"\s*[,:]\s*(?:please|you|run|execute|ignore|delete|send|do not|don't|stop|always|never"
        r"|add|remove|open|read|print|call|use)\b",
        r"\bas an? (?:ai|llm|language model|assistant),? you\b",
        r"\b(?:ai|llm) (?:agents?|assistants?|models?) (?:must|should|have to|are required to"
        r"|need to)\b",
    ),
    _rule(
        _SECRECY,
        "user|human|operator|developer|owner|system prompt|initial prompt|hidden instr|above",
        r"\b(?:do not|don't|never|without) (?:tell|telling|inform|informing|mention|mentioning"
        r"|alert|alerting|notify|notifying|ask|asking|show|showing|reveal|revealing) "
        r"(?:\w+ ){0,3}?(?:the )?(?:user|human|operator|developer|owner)\b",
        r"\b(?:keep|hide) (?:this|it) (?:\w+ ){0,2}?from (?:the )?(?:user|human|operator)\b",
        r"\b(?:reveal|print|show|output|repeat|leak|share|dump) (?:me )?(?:your|the) "
        r"(?:full |entire |hidden |initial )?(?:system prompt|initial prompt|hidden instructions"
        r"|instructions above)\b",
    ),
    _rule(
        _SECRECY,
        "secret|credential|api key|api_key|api-key|password|private key|ssh key|.env"
        "|environment var|token",
        r"\b(?:send|post|upload|exfiltrate|forward|e-?mail|transmit|submit|leak|paste)\b"
        r"[^\n]{0,60}?(?:(?<!\w)\.env\b|\b(?:secrets?|credentials?|api[ _-]?keys?|passwords?"
        r"|private keys?|ssh keys?|environment variables|access tokens?|tokens)\b)"
        r"[^.\n]{0,60}\b(?:to|at|via)\b",
    ),
    _rule(
        _CODE,
        "curl|wget|iwr|irm|invoke-web|base64|eval|rm -",
        r"\b(?:curl|wget|iwr|irm|invoke-webrequest)\b[^\n|;]{0,300}\|\s*(?:sudo\s+)?"
        r"(?:(?:ba|z|da|k)?sh|python\d?|node|perl|ruby|iex|php)\b",
        r"\bbase64\s+(?:-d|--decode|-D)\b[^\n]{0,40}\|\s*(?:ba|z)?sh\b",
        r"\beval\s+[\"'`$(]+\s*(?:curl|wget|base64|echo)\b",
        r"\b(?:ba|z)?sh\s+<\(\s*(?:curl|wget)\b",
        r"\brm\s+-(?:rf|fr|r -f|f -r)\s+(?:--no-preserve-root\s+)?(?:/|~|\$HOME|\*|\.git)"
        r"(?=[\s\"'`*;.]|/?\Z)",
    ),
    _rule(
        _TO_AI,
        "attention|message|instruction|hey |dear |hello ",
        r"\b(?:attention|message|instructions?|hey|dear|hello)\b[^.\n]{0,20}"
        rf"\b{_MODEL}\b\s*[:,!]",
    ),
    _rule(
        _SECRECY,
        "curl|wget|upload|exfiltrat|email|reveal|leak|send|delete|push|post|install|disable|downl",
        rf"\b{_MODEL} (?:must|should|shall|needs? to|has to|is required to)\b[^.\n]{{0,40}}"
        r"\b(?:delete|send|upload|curl|wget|email|reveal|leak|push|post|install|disable|download)\b",
        r"\byou (?:must|should|need to|have to)(?: now| immediately| first)? "
        r"(?:delete|send|upload|exfiltrate|email|reveal|leak|curl|wget)\b",
    ),
    _rule(
        _ROLE,
        "<system|</system|<instruction|</instruction|<important|</important",
        r"</?(?:system(?:-reminder|-prompt)?|instructions?|important)>",
    ),
)
