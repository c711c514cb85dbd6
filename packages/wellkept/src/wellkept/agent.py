"""`wellkept.agent` is `wellkept_agent` now; this forwards to it for one minor version."""

from wellkept.api.forwarding import forwarding

__path__: list[str] = []  # submodules are asked for, too
__getattr__ = forwarding(__name__, extra="agent")
