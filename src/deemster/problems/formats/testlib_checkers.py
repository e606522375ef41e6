"""Built-in comparisons that replace the standard checkers of testlib."""

from deemster.domain.problem import Compare, Comparison

TOKENS = Comparison(mode=Compare.TOKENS)
ANY_CASE = Comparison(mode=Compare.TOKENS, case_sensitive=False)


def near(tolerance: float) -> Comparison:
    return Comparison(mode=Compare.TOKENS, absolute=tolerance, relative=tolerance)


def near_absolutely(tolerance: float) -> Comparison:
    return Comparison(mode=Compare.TOKENS, absolute=tolerance)


COMPARISONS = {
    "acmp": near_absolutely(1.5e-6),
    "caseicmp": TOKENS,
    "casencmp": TOKENS,
    "casewcmp": TOKENS,
    "dcmp": near(1e-6),
    "fcmp": Comparison(mode=Compare.LINES),
    "hcmp": TOKENS,
    "icmp": TOKENS,
    "lcmp": TOKENS,
    "ncmp": TOKENS,
    "nyesno": ANY_CASE,
    "rcmp": near_absolutely(1.5e-6),
    "rcmp4": near(1e-4),
    "rcmp6": near(1e-6),
    "rcmp9": near(1e-9),
    "rncmp": near_absolutely(1.5e-5),
    "uncmp": Comparison(mode=Compare.SORTED_TOKENS),
    "wcmp": TOKENS,
    "yesno": ANY_CASE,
}
