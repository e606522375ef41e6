"""What may be handed in as a program."""

import pytest

from deemster.domain.errors import Refused
from deemster.domain.source import SOURCE_BYTES, Source


@pytest.mark.parametrize("name", ["../x.c", "a/b.c", "/etc/passwd", "", ".", "..", "a\0b"])
def test_a_source_file_has_a_plain_name(name: str) -> None:
    with pytest.raises(Refused, match="plain name"):
        Source({name: b""}, main=name)


def test_all_files_together_are_bounded() -> None:
    half = b"x" * (SOURCE_BYTES // 2)
    Source({"a.c": half, "b.c": half}, main="a.c")
    with pytest.raises(Refused, match="make it smaller"):
        Source({"a.c": half, "b.c": half, "c.h": b"x"}, main="a.c")
