"""Tell a person's words from text that clients put into prompts.

Clients send as a prompt: notices, hook output, messages of other agents, the body of a slash
command, the file that is open in the editor. Invariant: `own_words` returns only what a person
typed, "" when that is nothing.
"""

from __future__ import annotations

import re

_MADE_BY_CLIENT = re.compile(
    r"\s*(?:\[Request interrupted|Caveat: The messages below|(?:Stop|\w+) hook feedback:"
    r"|Base directory for this skill:|This session is being continued from a previous"
    r"|Another Claude session sent a message|A message from (?:agent|teammate)\b"
    r"|\[(?:Auto|SYSTEM|System)[ -]|Read the output file to retrieve the result:)"
)
_COMMAND = re.compile(r"<command-name>\s*(?P<name>/?[^<]{1,80}?)\s*</command-name>")
_NOTICE = re.compile(r"^Read the output file to retrieve the result: .*$", re.MULTILINE)
# Arguments of a slash command are typed by the person; its name and body are not.
_ARGUMENTS = re.compile(r"<command-args>(?P<args>.*?)</command-args>", re.DOTALL)
# Tags of clients have a hyphen or underscore in their name; a person's markup hardly ever. Only
# known ones may lack their end: `<skill-name>` can be a placeholder.
_BLOCK = re.compile(
    r"<(?P<tag>[a-z]+(?:[-_][a-z]+)+)(?:\s[^<>]*)?>(?P<inside>.*?)</(?P=tag)\s*>"
    r"|<(?:ide_|system-reminder|teammate-message|task-notification|local-command|bash-)[^<>]*>.*\Z",
    re.DOTALL,
)
_EMPTY_TAG = re.compile(r"<[a-z]+(?:[-_][a-z]+)+(?:\s[^<>]*)?/>")
_OF_AN_AGENT = re.compile(
    r"\s*<(?P<tag>teammate-message|agent-message|subagent[-_]task)(?P<attributes>\s[^<>]*)?>"
    r"(?P<inside>.*?)(?:</(?P=tag)\s*>|\Z)",
    re.DOTALL,
)
_SUBJECT = re.compile(r"\"(?:subject|title)\"\s*:\s*\"(?P<subject>[^\"\\]+)")
_ROLE = re.compile(
    r"\AYou(?:'re| are) (?:the |a |an )?[^.\n]{2,100}\.\s+"
    r"(?:(?:Your (?:task|job|role) is to|You(?:r task)?:?)\s+)?"
)
_SUMMARY = re.compile(r"\bsummary=\"(?P<summary>[^\"]+)\"")
_TYPED_BY_PERSON = frozenset({"user_query", "command-args", "user-prompt", "user_prompt"})
_ATTACHMENT = re.compile(r"\[(?:Image|Pasted text|File|Attachment)[^\]\n]{0,120}\]")


def own_words(prompt: str) -> str:
    """What a person typed of a prompt; "" when a client made all of it."""
    if _MADE_BY_CLIENT.match(prompt):
        return ""
    if "<" not in prompt:
        return _ATTACHMENT.sub("", prompt).strip() if "[" in prompt else prompt.strip()
    arguments = _ARGUMENTS.search(prompt)
    if arguments is not None and prompt.lstrip().startswith("<command-"):
        return arguments["args"].strip()
    left = _NOTICE.sub("", _EMPTY_TAG.sub("", _BLOCK.sub(_kept, prompt)))
    return _ATTACHMENT.sub("", left).strip()


def slash_command(prompt: str) -> str | None:
    """The slash command of a prompt with its arguments, as the person typed it."""
    name = _COMMAND.search(prompt) if prompt.lstrip().startswith("<command-") else None
    if name is None:
        return None
    return f"/{name['name'].lstrip('/')} {own_words(prompt)}".strip()


def agent_task(prompt: str) -> str | None:
    """The task that another agent sent as a prompt; None when the prompt is no such message."""
    message = _OF_AN_AGENT.match(prompt)
    if message is None:
        return None
    inside = message["inside"].strip()
    if inside.startswith("{"):
        subject = _SUBJECT.search(inside)
        return subject["subject"] if subject else None
    summary = _SUMMARY.search(message["attributes"] or "")
    return (summary["summary"] if summary else _ROLE.sub("", inside)) or None


def _kept(block: re.Match[str]) -> str:
    return block["inside"] if (block["tag"] or "") in _TYPED_BY_PERSON else ""
