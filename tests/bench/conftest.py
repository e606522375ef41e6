"""The benchmarks run as the `deemster bench` command."""

from tests.cli.conftest import deemster, environment

__all__ = ["deemster", "environment"]
