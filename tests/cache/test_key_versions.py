"""C1: after a change, no earlier version of a key is used again."""

from hypothesis import given
from hypothesis import strategies as st

from deemster.cache.cache import KeyVersions

SUBJECTS = st.sampled_from("abcde")


@given(st.lists(SUBJECTS | st.none(), max_size=60), st.integers(1, 4))
def test_no_version_is_used_again_after_a_change(
    bumps: list[str | None], max_subjects: int
) -> None:
    versions = KeyVersions(max_subjects)
    seen: dict[str, set[int]] = {name: {versions.of(name)} for name in "abcde"}
    for bumped in bumps:
        if bumped is None:
            versions.bump_all()
        else:
            versions.bump(bumped)
        for name in "abcde":
            now = versions.of(name)
            if bumped in {None, name}:
                assert now not in seen[name], "an entry from before the change would be found"
            assert now >= max(seen[name])
            seen[name].add(now)
