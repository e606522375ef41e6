"""All settings; only this package reads the environment."""

from deemster.settings.settings import Settings, given_secrets, load_settings
from deemster.settings.sources import (
    DEFAULT_URL,
    TOKEN_VARIABLE,
    URL_VARIABLE,
    Server,
    child_environment,
    config_file,
    forget_variables,
    given_server_url,
    keep_files,
    keep_settings,
    server_of_client,
)

__all__ = [
    "DEFAULT_URL",
    "TOKEN_VARIABLE",
    "URL_VARIABLE",
    "Server",
    "Settings",
    "child_environment",
    "config_file",
    "forget_variables",
    "given_secrets",
    "given_server_url",
    "keep_files",
    "keep_settings",
    "load_settings",
    "server_of_client",
]
