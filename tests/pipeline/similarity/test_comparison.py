"""P6: planted copies are found, independent programs are not, and work stays bounded."""

import re
from itertools import combinations

import pytest

from deemster.domain.similarity import Match, clusters
from deemster.pipeline.similarity.comparison import (
    MAX_COMMON,
    MAX_MATCHES,
    MIN_COMMON,
    CandidateSearch,
    Program,
    common_limit,
    compare_all,
    covered,
    match,
)
from deemster.pipeline.similarity.fingerprints import sequence_hashes
from tests.pipeline.similarity.sources import (
    PLANTED,
    PROGRAMS,
    SAMPLES,
    lexer_of,
    made_source,
    program,
    program_in,
    symbols,
)

ORIGINAL = (PLANTED / "original.py").read_text()


def found(one: Program[str], other: Program[str]) -> Match[str]:
    match_ = match(one, other)
    assert match_ is not None
    return match_


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("original.py", "disguised.py"),
        ("original.cpp", "disguised.cpp"),
        ("Original.java", "Disguised.java"),
        ("original.js", "disguised.js"),
    ],
)
def test_p6_a_disguised_copy_is_found(one: str, other: str) -> None:
    """Names, comments, the order of functions and the forms of loops were changed."""
    similar = found(program_in(PLANTED / one), program_in(PLANTED / other))
    assert min(similar.left_share, similar.right_share) > 0.7


INDEPENDENT = [
    (problem, lexer)
    for problem in ("moor", "teams")
    for lexer in ("python", "cpp", "java", "javascript")
]


@pytest.mark.parametrize(("problem", "lexer"), INDEPENDENT)
def test_p6_independent_solutions_are_not_reported(problem: str, lexer: str) -> None:
    files = [
        *(SAMPLES / problem / "submissions" / "accepted").iterdir(),
        *(PROGRAMS / "independent" / problem).iterdir(),
    ]
    programs = [program_in(file) for file in files if lexer_of(file.name) == lexer]
    assert len(programs) >= 2
    assert compare_all(programs) == []


def test_p6_solutions_of_different_sample_problems_are_not_reported() -> None:
    by_lexer: dict[str, list[Program[str]]] = {}
    for file in SAMPLES.glob("*/submissions/accepted/*"):
        problem = file.parents[2].name
        by_lexer.setdefault(lexer_of(file.name), []).append(program_in(file, problem))
    assert len(by_lexer) >= 4
    assert [compare_all(programs) for programs in by_lexer.values()] == [[]] * len(by_lexer)


def test_renamed_variables_change_nothing() -> None:
    renamed = re.sub(r"\b(orders|best|taken|capacity|rest|count)\b", r"x_\1", ORIGINAL)
    similar = found(program(ORIGINAL, "1"), program(renamed, "2"))
    assert (similar.left_share, similar.right_share) == (1.0, 1.0)
    assert len(similar.regions) == 1


def test_moved_functions_are_found_where_they_are() -> None:
    parts = ORIGINAL.split("\n\n\n")
    moved = "\n\n\n".join([parts[0], *reversed(parts[1:-1]), parts[-1]])
    similar = found(program(ORIGINAL, "1"), program(moved, "2"))
    assert min(similar.left_share, similar.right_share) > 0.75
    lines, moved_lines = ORIGINAL.split("\n"), moved.split("\n")
    for region in similar.regions:
        shown = set(map(str.strip, lines[region.left.first - 1 : region.left.last])) - {""}
        other = moved_lines[region.right.first - 1 : region.right.last]
        assert len(shown & set(map(str.strip, other))) >= 0.6 * len(shown)


def test_a_copied_part_has_two_different_shares() -> None:
    longer = ORIGINAL + made_source(1, 20)
    similar = found(program(ORIGINAL, "1"), program(longer, "2"))
    assert similar.left_share > 0.95
    assert similar.right_share < 0.4
    assert similar.similarity == similar.left_share


def test_the_smaller_id_came_first() -> None:
    assert found(program(ORIGINAL, "b"), program(ORIGINAL, "a")).left == "a"


def test_programs_of_one_author_are_not_compared() -> None:
    pair = [program(ORIGINAL, "1", "ada"), program(ORIGINAL, "2", "ada")]
    assert compare_all(pair) == []


def test_short_programs_are_not_reported() -> None:
    source = "a, b = map(int, input().split())\nprint(a + b)\n"
    short = [program(source, str(number)) for number in range(2)]
    assert compare_all(short) == []


def test_template_code_does_not_count() -> None:
    template = frozenset(sequence_hashes(symbols(ORIGINAL)))
    sources = [ORIGINAL + made_source(seed, 5) for seed in range(2)]
    plain = [program(source, str(seed)) for seed, source in enumerate(sources)]
    assert compare_all(plain) != []
    without = [program(each, str(seed), template=template) for seed, each in enumerate(sources)]
    assert compare_all(without) == []


def test_code_that_many_authors_share_does_not_count() -> None:
    """It is left out of both the match and the whole: a copy of the rest is found in full."""
    own = [made_source(seed, 5) for seed in range(MIN_COMMON)]
    programs = [program(ORIGINAL + each, f"{seed:02}") for seed, each in enumerate(own)]
    copied = program(ORIGINAL + own[3].replace("v1", "w1"), "99")
    (only,) = compare_all([*programs, copied])
    assert (only.left, only.right) == ("03", "99")
    assert only.left_share > 0.95


def test_what_is_common_depends_on_the_number_of_authors() -> None:
    limits = [common_limit(authors) for authors in (1, 30, 90, 10_000)]
    assert limits == [MIN_COMMON, MIN_COMMON, 30, MAX_COMMON]


def test_many_equal_programs_make_no_pairs() -> None:
    fingerprints = program(ORIGINAL).fingerprints
    programs = [Program(f"{number:05}", str(number), fingerprints) for number in range(2000)]
    search = CandidateSearch(programs, authors=len(programs))
    for each in programs:
        search.add(each)
    assert not any(search.candidates().values())


def test_the_number_of_matches_of_a_program_is_bounded() -> None:
    """40 of 1000 authors share a program: that is not common, but nobody reads 780 pairs."""
    ring = program(ORIGINAL).fingerprints
    programs = [Program(f"{number:04}", str(number), ring) for number in range(40)]
    search = CandidateSearch(programs, authors=1000)
    for each in programs:
        search.add(each)
    assert max(map(len, search.candidates().values())) == 2 * MAX_MATCHES - 1
    small = [
        *programs[: MIN_COMMON // 2],
        *(program(made_source(seed), f"m{seed}") for seed in range(3)),
    ]
    pairs = compare_all(small)
    assert len(pairs) == len(list(combinations(range(MIN_COMMON // 2), 2)))


def test_of_many_versions_of_an_author_the_best_is_compared() -> None:
    versions = [
        program(ORIGINAL + made_source(seed, 8), f"a{seed}", "ada") for seed in range(3)
    ]
    copy = program(ORIGINAL + made_source(1, 8), "z", "zoe")
    search = CandidateSearch([copy], authors=2)
    for each in (*versions, copy):
        search.add(each)
    assert search.candidates() == {"z": ["a1"]}
    assert compare_all([*versions, copy])[0].left == "a1"


def test_clusters_are_connected_programs() -> None:
    pairs = [("a", "b"), ("c", "d"), ("b", "e"), ("f", "d"), ("x", "y")]
    assert clusters(pairs) == [["a", "b", "e"], ["c", "d", "f"], ["x", "y"]]
    assert clusters([]) == []


def test_covered_symbols_are_counted_once() -> None:
    whole = program(ORIGINAL)
    assert 0.9 * len(symbols(ORIGINAL)) < covered(whole.fingerprints) <= len(symbols(ORIGINAL))


def test_work_grows_with_the_programs_and_not_with_their_pairs() -> None:
    """Each made program shares nothing: candidates are found only through fingerprints."""
    programs = [program(made_source(seed, 3), f"{seed:03}") for seed in range(60)]
    search = CandidateSearch(programs, authors=len(programs))
    for each in programs:
        search.add(each)
    assert sum(map(len, search.candidates().values())) < len(programs)
