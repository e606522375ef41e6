"""A program for test_privileges.py: becomes an ordinary user and chooses a sandbox."""

import asyncio
import json

from deemster.cli.languages import as_object, find_and_test
from deemster.programs.build.languages import load_catalogue
from deemster.settings import load_settings
from deemster.wiring.strongest_sandbox import choose_layers
from tests.wiring.as_ordinary_user import become_ordinary


def main() -> None:
    become_ordinary()
    settings, weakness = asyncio.run(choose_layers(load_settings()))
    again, more = asyncio.run(choose_layers(settings))
    assert (again, more) == (settings, None)
    [[python3], _] = asyncio.run(find_and_test([load_catalogue().named("python3")], test=False))
    seen = {
        "without": sorted(settings.sandbox_without),
        "weakness": weakness,
        "python3": as_object(python3, {})["version"],
    }
    print(json.dumps(seen))


if __name__ == "__main__":
    main()
