"""Settings of memory inside the loop."""

from __future__ import annotations

from wellkept.core.records import record
from wellkept.core.settings.model import setting


@record(kw_only=True)
class RecallSettings:
    """What memory does beyond telling."""

    warn_before_run: bool | None = setting(
        None,
        "Hold a command once that failed here in several sessions, and say what worked instead;"
        " unset is as capture.before_tools says, which is off",
    )
