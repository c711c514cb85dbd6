"""A way of working: jobs that go over the bench, from sketch to check."""

from collections.abc import Iterable

from wellkept import hookimpl
from wellkept.core.types import MemoryType, Phase
from wellkept.observe.methodology.protocol import CustomType, Methodology, Relay
from wellkept.observe.methodology.table import Level, TableMethodology

WORKSHOP = TableMethodology(
    id="workshop",
    title="Workshop (jobs)",
    # Your stages, each with the phase that Wellkept knows it by.
    phases={"sketch": Phase.DEFINE, "bench": Phase.IMPLEMENT, "check": Phase.VALIDATE},
    # `job-17` in a branch name or a request names the work unit.
    levels=(Level("job"),),
    # What one stage hands on to the next; without `types`, everything.
    relays=(
        Relay(source="sketch", target="bench", types=(MemoryType.REQUIREMENT, MemoryType.DECISION)),
        Relay(source="bench", target="check"),
    ),
    custom_types=(
        CustomType(name="tolerance", kept_as=MemoryType.REQUIREMENT, doc="How exact it must be."),
    ),
)


@hookimpl
def wellkept_methodologies() -> Iterable[Methodology]:
    """The methodologies of this plugin."""
    return [WORKSHOP]
