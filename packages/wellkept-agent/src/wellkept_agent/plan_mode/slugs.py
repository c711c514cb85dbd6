"""Names of plan files: adjective, noun, verb."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Final

ADJECTIVES: Final = tuple(
    "sparkling gentle swift quiet bold calm bright clever cosmic crisp eager early fuzzy golden"
    " happy humble lively lucky mellow merry nimble patient polite proud royal shiny silver snug"
    " steady sunny tidy vivid warm wise witty".split()
)
NOUNS: Final = tuple(
    "fox river mountain forest cloud meadow acorn badger beacon brook canyon cedar comet coral"
    " falcon fern garden harbor heron island lantern maple moon orchard otter owl pebble pine"
    " pond raven reef sparrow star tulip valley willow".split()
)
VERBS: Final = tuple(
    "baking dancing running flying swimming climbing building drifting gliding glowing humming"
    " jumping knitting leaping mending painting planting resting roaming rowing sailing singing"
    " skating soaring spinning strolling sweeping walking weaving whistling".split()
)
_TRIES: Final = 50


def plan_slug(is_taken: Callable[[str], bool], *, random: Random | None = None) -> str:
    """A name that is not taken, such as gentle-river-dancing."""
    source = random or Random()
    slug = ""
    for _ in range(_TRIES):
        slug = "-".join(source.choice(words) for words in (ADJECTIVES, NOUNS, VERBS))
        if not is_taken(slug):
            return slug
    number = 2
    while is_taken(f"{slug}-{number}"):
        number += 1
    return f"{slug}-{number}"
