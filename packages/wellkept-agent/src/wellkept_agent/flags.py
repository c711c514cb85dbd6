"""Feature flags of the runtime: what of memory and skills is switched on."""

from __future__ import annotations

from wellkept.core.records import record
from wellkept.core.settings.model import setting


@record(kw_only=True)
class FeatureFlags:
    """Switches and limits of memory and skills inside the loop."""

    memory_enabled: bool = setting(True, "Tell the model what is known")
    memory_auto_extract: bool = setting(True, "Learn from a session at its end")
    memory_max_injected: int = setting(10, "Memories told at once", "0..")
    skills_enabled: bool = setting(True, "Tell the model of skills that fit")
    skills_auto_generate: bool = setting(
        False, "Use skills made of sessions that went well at once; else they wait for a review"
    )
    skills_max_injected_chars: int = setting(4_000, "Characters of skills told at once", "0..")
