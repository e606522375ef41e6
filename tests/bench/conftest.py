"""`deemster bench` as a command, which tests run in their own process."""

from tests.cli.conftest import call, environment, here

__all__ = ["call", "environment", "here"]
