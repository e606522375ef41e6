"""A submission's files as one artifact: the same files give the same bytes."""

import json
from collections.abc import Mapping

from deemster.domain.errors import Unavailable


def pack(files: Mapping[str, bytes]) -> bytes:
    """A line of JSON that lists names and sizes, then the contents."""
    names = sorted(files)
    index = json.dumps([[name, len(files[name])] for name in names], separators=(",", ":"))
    return index.encode() + b"\n" + b"".join(files[name] for name in names)


def unpack(bundle: bytes) -> dict[str, bytes]:
    line, _, contents = bundle.partition(b"\n")
    files, start = {}, 0
    for name, size in json.loads(line):
        files[name] = contents[start : start + size]
        start += size
    if start != len(contents):
        raise Unavailable("The artifact of a source is damaged: restore it from a backup.")
    return files
