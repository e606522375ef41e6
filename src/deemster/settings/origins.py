"""Tells for each setting its value and where the value came from."""

import os
from dataclasses import dataclass

from pydantic import SecretStr

from deemster.domain.docstrings import attribute_docstrings
from deemster.settings.settings import Settings
from deemster.settings.sources import (
    CONFIG_VARIABLE,
    PREFIX,
    TEST_PREFIX,
    TOKEN_VARIABLE,
    URL_VARIABLE,
    config_file,
    named_file,
    outside_sources,
    variable_of,
)


@dataclass(frozen=True, slots=True)
class Origin:
    name: str
    variable: str
    value: str
    source: str
    description: str


def origins(settings: Settings) -> list[Origin]:
    """Values of secrets are hidden."""
    env, files, toml = (source() for source in outside_sources(Settings))
    descriptions = attribute_docstrings(Settings)
    found = []
    for name in Settings.model_fields:
        variable = variable_of(name)
        places = {
            variable: name in env,
            named_file(name): name in files,
            str(config_file()): name in toml,
        }
        source = next((place for place, holds in places.items() if holds), "default")
        value = as_text(getattr(settings, name))
        found.append(Origin(name, variable, value, source, descriptions[name]))
    return found


def unknown_variables() -> list[str]:
    """Variables with the prefix that name no setting: most likely because of a typing error, or
    because the setting has another name in this version.
    """
    known = {CONFIG_VARIABLE, URL_VARIABLE, TOKEN_VARIABLE}
    for name in Settings.model_fields:
        known |= {variable_of(name), named_file(name)}
    return sorted(
        name
        for name in os.environ
        if name.startswith(PREFIX) and not name.startswith(TEST_PREFIX) and name not in known
    )


def as_text(value: object) -> str:
    if isinstance(value, frozenset | list):
        return ", ".join(sorted(value))
    if isinstance(value, dict):
        return ", ".join(f"{name}={number}" for name, number in sorted(value.items()))
    if value is None or isinstance(value, SecretStr):
        return "" if value is None else "********"
    return str(value)
