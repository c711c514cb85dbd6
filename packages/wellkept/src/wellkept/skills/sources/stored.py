"""Skills that come through a port and not from a file: stored ones, and prompts of MCP servers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from hashlib import sha256
from typing import Final

from wellkept.core.ports.skills import PromptDefinition, PromptSource, SkillDocuments, StoredSkill
from wellkept.core.records import replace
from wellkept.core.skills import Skill, SkillFormat, SkillInvocation, SkillKind, SkillSource
from wellkept.core.text import clean
from wellkept.skills.documents.reader import read_skill
from wellkept.skills.documents.spec_rules import usable_name
from wellkept.skills.sources.locations import GENERATED_PRIORITY, MCP_PRIORITY, TEAM_PRIORITY
from wellkept.skills.sources.scanner import ScannedSkill, ScanResult

GENERATED_SOURCE: Final = SkillSource(SkillKind.GENERATED, "store", GENERATED_PRIORITY)
TEAM_SOURCE: Final = SkillSource(SkillKind.MANAGED, "team", TEAM_PRIORITY)


class StoredSkillScanner:
    """Skills in a store as a source."""

    def __init__(self, stored: SkillDocuments, source: SkillSource = GENERATED_SOURCE) -> None:
        self._stored = stored
        self._source = source
        self._documents: Sequence[StoredSkill] = ()
        self._last = ScanResult()

    def scan(self) -> ScanResult:
        """Every stored document; the same object as before when nothing changed."""
        documents = tuple(self._stored.documents())
        if documents != self._documents:
            self._documents = documents
            skills = tuple(ScannedSkill(self._skill(document)) for document in documents)
            self._last = ScanResult(skills, sources=(self._source,))
        return self._last

    def forget(self) -> None:
        """Read everything again next time."""
        self._documents, self._last = (), ScanResult()

    def _skill(self, document: StoredSkill) -> Skill:
        skill = read_skill(
            document.text.encode("utf-8", errors="replace"),
            source=self._source,
            format=SkillFormat.FULL,
            name=document.name,
            modified_ns=document.modified_ns,
        )
        return replace(skill, name=document.name, enabled=document.enabled, note=document.note)


class PromptScanner:
    """Prompts of MCP servers as a source; their texts are requested when they are run."""

    def __init__(self, prompts: PromptSource) -> None:
        self._source = prompts
        self._prompts: Sequence[PromptDefinition] = ()
        self._last = ScanResult()

    def scan(self) -> ScanResult:
        """Every prompt; the same object as before when nothing changed."""
        prompts = tuple(self._source.prompts())
        if prompts != self._prompts:
            self._prompts = prompts
            skills = tuple(ScannedSkill(_prompt_skill(prompt)) for prompt in prompts)
            sources = dict.fromkeys(scanned.skill.source for scanned in skills)
            self._last = ScanResult(skills, sources=tuple(sources))
        return self._last

    def forget(self) -> None:
        """Read everything again next time."""
        self._prompts, self._last = (), ScanResult()


def _prompt_skill(prompt: PromptDefinition) -> Skill:
    """A prompt named `server:prompt`, with its arguments as the hint."""
    hint = " ".join(f"<{a.name}>" if a.required else f"[{a.name}]" for a in prompt.arguments)
    parts = [prompt.server, prompt.name, prompt.description]
    parts += [f"{a.name}={a.description}={a.required}" for a in prompt.arguments]
    digest = sha256(json.dumps(parts).encode()).hexdigest()
    source = SkillSource(SkillKind.MCP, clean(prompt.server), MCP_PRIORITY)
    return Skill(
        name=usable_name(f"{prompt.server}:{prompt.name}") or "unnamed",
        description=clean(prompt.description.strip()),
        body="",
        source=source,
        priority=source.priority,
        format=SkillFormat.PROMPT,
        sha256=digest,
        invocation=SkillInvocation(argument_hint=clean(hint) or None),
    )
