"""The constants of a problem, where its texts name them."""

import re
from collections.abc import Mapping

CONSTANT = re.compile(r"\{\{([a-zA-Z_][a-zA-Z0-9_]*(?:\.[a-zA-Z_][a-zA-Z0-9_]*)?)\}\}")


def fill_constants(text: str, constants: Mapping[str, str]) -> str:
    """`{{name}}` by its value; names that aren't constants stay."""
    return CONSTANT.sub(lambda found: constants.get(found[1], found[0]), text)
