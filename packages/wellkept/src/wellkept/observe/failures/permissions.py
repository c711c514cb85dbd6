"""What is allowed once by a person and must never be offered as a remedy or a standing command."""

from __future__ import annotations

import re

_PERMISSIONS = re.compile(
    r"(?:^|\s)(?:--no-verify|--no-gpg-sign|--force(?:-with-lease)?|--dangerously\S*|--yolo"
    r"|--allow-\S+|--skip-\S+|--insecure|-k|--privileged|--no-check\S*|--disable-\S*check\S*"
    r"|--ignore-\S*(?:certificate|ssl|security)\S*|--break-system-packages|--unsafe-perm"
    r"|--admin|--accept-data-loss|--legacy-peer-deps)(?=\s|=|$)"
    r"|commit\.gpgsign=false|\bHUSKY=0|\bSKIP=|\bHUSKY_SKIP\w*=|\bchmod (?:-R )?777|\bsudo\b"
    r"|\bgit push\b.*\s(?:-f|main|master)\b|\bgit\s+(?:-\S+\s+)*config\b"
    r"|\bgit\s+-c\s+\S+=|NODE_TLS_REJECT_UNAUTHORIZED=0|PYTHONHTTPSVERIFY=0"
    r"|StrictHostKeyChecking=no|GIT_SSL_NO_VERIFY"
)
_DESTROYS = re.compile(
    r"(?:^|[\s;&|])(?:rm|rmdir|del|shred|truncate)\s|\bgit\s+(?:-\S+\s+)*"
    r"(?:clean\b|reset\s+--hard|checkout\s+(?:--\s|\.)|restore\b|branch\s+-D|stash\s+drop)"
    r"|\b(?:drop\s+(?:table|database|schema)|truncate\s+table|delete\s+from)\b"
    r"|\bdocker\s+(?:\S+\s+)?(?:prune|rm|rmi|down\s+.*-v)\b|\bkubectl\s+delete\b"
    r"|\b(?:migrate\s+reset|db:(?:drop|reset)|mkfs|dd\s+if=)|\bkill(?:all)?\b|\bpkill\b",
    re.IGNORECASE,
)


def is_permission(line: str) -> bool:
    """Whether a command line goes around a check or a protection."""
    return _PERMISSIONS.search(line) is not None


def is_destructive(line: str) -> bool:
    """Whether a command line removes something: never offered without a word of warning."""
    return _DESTROYS.search(line) is not None
