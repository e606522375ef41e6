"""`deemster settings`: shows each setting with its value and its source."""

from dataclasses import asdict

from deemster.cli.options import AsJson
from deemster.cli.output import make_table, print_json, table_console
from deemster.cli.unknown_variables import print_unknown_variables
from deemster.settings import load_settings
from deemster.settings.origins import origins
from deemster.settings.sources import CONFIG_FILE, CONFIG_VARIABLE


def settings(as_json: AsJson = False) -> None:
    found = origins(load_settings())
    if as_json:
        print_json({"settings": [asdict(each) for each in found]})
        return
    table = make_table("setting", "value", "source", "description")
    for each in found:
        table.add_row(each.variable, each.value or "none", each.source, each.description)
    table_console().print(table)
    print_unknown_variables()


settings.__doc__ = f"""Show every setting with its value and its source.

A setting is an environment variable (DEEMSTER_ENV=…), a file that such a variable names
(DEEMSTER_ENV_FILE=/run/secrets/env), or a key in {CONFIG_FILE}, in lower case and without the
prefix (env = "…"). The first of these that is present wins. {CONFIG_VARIABLE} names another
file.
"""
