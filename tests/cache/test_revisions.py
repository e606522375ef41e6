"""C1: a number that stood for something old never stands for it again."""

from hypothesis import given
from hypothesis import strategies as st

from deemster.cache.revisions import Revisions

SUBJECTS = st.sampled_from("abcde")


@given(st.lists(SUBJECTS | st.none(), max_size=60), st.integers(1, 4))
def test_no_revision_comes_back_after_a_change(bumps: list[str | None], most: int) -> None:
    revisions = Revisions(most)
    seen: dict[str, set[int]] = {name: {revisions.of(name)} for name in "abcde"}
    for bumped in bumps:
        if bumped is None:
            revisions.bump_all()
        else:
            revisions.bump(bumped)
        for name in "abcde":
            now = revisions.of(name)
            if bumped in {None, name}:
                assert now not in seen[name], "what was before the change must not be found"
            assert now >= max(seen[name])
            seen[name].add(now)
