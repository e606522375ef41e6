"""Starts the `deemster` command."""

from deemster.cli.fast_imports import without_garbage_collection

with without_garbage_collection():
    from deemster.cli.app import main

__all__ = ["main"]

if __name__ == "__main__":
    main()
