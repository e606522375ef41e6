"""Reads from the settings which layers of the sandbox are switched on."""

from functools import reduce

from deemster.sandbox.command import Layers
from deemster.settings import Settings


def layers_of(settings: Settings) -> Layers:
    """All sandbox layers but those that the operator has switched off (X8)."""
    without = [Layers[name.upper()] for name in settings.sandbox_without]
    return reduce(lambda layers, layer: layers & ~layer, without, Layers.ALL)
