"""Sorts test groups so that each comes after the groups it requires."""

from collections.abc import Iterable, Mapping, Sequence

from deemster.domain.errors import Refused


def sort_groups(
    names: Sequence[str], requires: Mapping[str, Iterable[str]], file: str
) -> list[str]:
    """Keeps the given order where the requirements allow it."""
    done: list[str] = []
    under_way: set[str] = set()

    def add(name: str) -> None:
        if name in done:
            return
        if name in under_way:
            raise Refused(f"{file}: the group '{name}' depends on itself: correct it.")
        under_way.add(name)
        for required in requires.get(name, ()):
            if required not in names:
                raise Refused(f"{file}: '{name}' depends on '{required}', which has no tests.")
            add(required)
        done.append(name)

    for name in names:
        add(name)
    return done
