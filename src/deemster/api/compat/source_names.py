"""Names the main source file of a request to a compatible API."""

from collections.abc import Mapping

from deemster.domain.errors import Refused
from deemster.domain.language import Language


def name_main(
    language: Language, given: str, content: bytes, others: Mapping[str, bytes]
) -> tuple[dict[str, bytes], str | None]:
    """The files with the main one under a name that its language accepts, and that name."""
    if not others and "/" not in given:
        return {language.file_name(given, content.decode(errors="replace")): content}, None
    name = given
    if "/" not in given:
        name = language.file_name(given, content.decode(errors="replace"))
    if name in others:
        raise Refused(f"two files have the name {name!r}: rename one")
    return {name: content, **others}, name
