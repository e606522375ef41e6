"""Finds test cases by regular expressions for their file names.

Untrusted expressions may take forever to match, so they run in a separate process with a
time limit.
"""

import json
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence

from deemster.problems.formats.dmoj.init_file import NamePatterns, refused

INPUT = r"^(?=.*?\.in|in).*?(?:(?:^|\W)(?P<batch>\d+)[^\d\s]+)?(?P<case>\d+)[^\d\s]*$"
OUTPUT = r"^(?=.*?\.out|out).*?(?:(?:^|\W)(?P<batch>\d+)[^\d\s]+)?(?P<case>\d+)[^\d\s]*$"
"""The defaults in DMOJ's documentation."""
TIMEOUT_S = 20
MATCHER = """
import json, re, resource, sys
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
given = json.load(sys.stdin)
pattern = re.compile(given["pattern"], re.IGNORECASE)
found = ((name, pattern.match(name)) for name in given["names"])
kept = {name: match.groupdict() for name, match in found if match}
json.dump(kept, sys.stdout)
"""

Key = tuple[bool, int, str]
"""A number or a text; texts sort first."""
Found = dict[Key, dict[Key, dict[str, str]]]


def find_cases(
    names: Sequence[str], formats: NamePatterns, points: float
) -> list[dict[str, object]]:
    """The cases in the form of `test_cases`."""
    groups: Found = {}
    batches: set[Key] = set()
    for side, key, pattern in (
        ("in", "input_format", formats.input_format or INPUT),
        ("out", "output_format", formats.output_format or OUTPUT),
    ):
        for name, batch, case in matches(names, pattern, f"test_cases.{key}"):
            if batch is not None:
                batches.add(batch)
            files = groups.setdefault(batch or case, {}).setdefault(case, {})
            if side in files:
                both = f"{files[side]!r} and {name!r}"
                raise refused(f"test_cases.{key}", f"finds {both} for the same case.")
            files[side] = name
    given = iter(formats.case_points or ())
    return [
        entry
        | {"points": next(given, points) if formats.case_points is None else next_points(given)}
        for entry in entries(groups, batches)
    ]


def next_points(given: Iterable[float]) -> float:
    for points in given:
        return points
    raise refused("test_cases.case_points", "has fewer numbers than there are cases: add some.")


def entries(groups: Found, batches: set[Key]) -> Iterator[dict[str, object]]:
    for number in sorted(groups):
        cases = [dict(groups[number][case]) for case in sorted(groups[number])]
        if number in batches:
            yield {"batched": cases}
        else:
            yield from map(dict, cases)


def matches(
    names: Sequence[str], pattern: str, key: str
) -> Iterator[tuple[str, Key | None, Key]]:
    for name, groups in matched(names, pattern, key).items():
        if groups.get("case") is None:
            raise refused(key, f"matches {name!r} without a group called 'case': add one.")
        batch = groups.get("batch")
        yield name, None if batch is None else as_key(batch), as_key(groups["case"])


def matched(names: Sequence[str], pattern: str, key: str) -> dict[str, dict[str, str]]:
    given = json.dumps({"pattern": pattern, "names": list(names)})
    argv = [sys.executable, "-I", "-S", "-c", MATCHER]
    try:
        ended = subprocess.run(
            argv, input=given, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
        )
    except subprocess.TimeoutExpired:
        raise refused(key, f"takes more than {TIMEOUT_S} s to match: simplify it.") from None
    if ended.returncode:
        said = ended.stderr.strip().splitlines()[-1:] or ["?"]
        raise refused(key, f"is no pattern that can be used ({said[0][:200]}): correct it.")
    found: dict[str, dict[str, str]] = json.loads(ended.stdout)
    return found


def as_key(text: str) -> Key:
    return (True, int(text), "") if text.isascii() and text.isdigit() else (False, 0, text)
