"""Settings that a test gives. Reading the environment would take longer than many requests."""

from typing import Any

from pydantic import BaseModel

from deemster.settings import Settings


class GivenSettings(Settings):
    """Neither the environment nor files change them."""

    def __init__(self, **values: Any) -> None:
        BaseModel.__init__(self, **values)
