"""The benchmarks run as the `deemster bench` command."""

from tests.cli.conftest import deemster, environment, here

__all__ = ["deemster", "environment", "here"]
