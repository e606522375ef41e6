"""Runs examples of the README of Judge0's client; prints what each of them printed as JSON.

The client finds the service by its own environment variables. The first argument is an address
with a token, for the example that has an address of its own; the others are titles.
"""

import contextlib
import doctest
import importlib.metadata
import io
import json
import re
import sys

OWN_ADDRESS = "http://127.0.0.1:2358"


def examples() -> dict[str, str]:
    """The first program below each title of the README."""
    readme = str(importlib.metadata.metadata("judge0").json["description"])
    found: dict[str, str] = {}
    for section in re.split(r"^#+ (?=[A-Z]|hello)", readme, flags=re.MULTILINE):
        title = section.partition("\n")[0].strip()
        program = re.search(r"^```python\n(.*?)^```", section, flags=re.MULTILINE | re.DOTALL)
        if program:
            found.setdefault(title, program[1])
    return found


def run(program: str) -> str:
    said = io.StringIO()
    variables: dict[str, object] = {}
    with contextlib.redirect_stdout(said):
        if program.startswith(">>>"):
            for each in doctest.DocTestParser().get_examples(program):
                exec(compile(each.source, "README", "single"), variables)
        else:
            exec(compile(program, "README", "exec"), variables)
    return said.getvalue()


if __name__ == "__main__":
    address, *titles = sys.argv[1:]
    programs = examples()
    print(
        json.dumps({each: run(programs[each].replace(OWN_ADDRESS, address)) for each in titles})
    )
