"""Feature flags of the runtime: what of memory and skills is switched on."""

from __future__ import annotations

from wellkept.core.records import record
from wellkept_agent.settings import setting


@record(kw_only=True)
class FeatureFlags:
    """Switches and limits of memory and skills inside the loop."""

    memory_enabled: bool = setting(
        True, "Tell the model what is known", "WELLKEPT_AGENT_MEMORY_ENABLED"
    )
    memory_auto_extract: bool = setting(
        True, "Learn from a session at its end", "WELLKEPT_AGENT_MEMORY_AUTO_EXTRACT"
    )
    memory_max_injected: int = setting(
        10, "Memories told at once", "WELLKEPT_AGENT_MEMORY_MAX_INJECTED", low=0
    )
    skills_enabled: bool = setting(
        True, "Tell the model of skills that fit", "WELLKEPT_AGENT_SKILLS_ENABLED"
    )
    skills_auto_generate: bool = setting(
        False,
        "Use skills made of sessions that went well at once; else they wait for a review",
        "WELLKEPT_AGENT_SKILLS_AUTO_GENERATE",
    )
    skills_max_injected_chars: int = setting(
        4_000,
        "Characters of skills told at once",
        "WELLKEPT_AGENT_SKILLS_MAX_INJECTED_CHARS",
        low=0,
    )
