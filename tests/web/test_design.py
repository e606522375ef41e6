"""W4: the colours of every scheme can be read, and motion stops if the visitor asks for it."""

import re
from importlib.resources import files

import pytest

CSS = files("deemster.web").joinpath("static", "deemster.css").read_text()
TEXT = ("ink", "soft", "accent", "good", "bad", "slow", "part", "mute", "wait")
GROUNDS = ("paper", "sheet", "code")
SCHEMES = {
    "light": ((), 4.5),
    "dark": (("(prefers-color-scheme: dark)",), 4.5),
    "contrast": (("(prefers-contrast: more)",), 7.0),
    "dark contrast": (
        (
            "(prefers-color-scheme: dark)",
            "(prefers-contrast: more)",
            "(prefers-contrast: more) and (prefers-color-scheme: dark)",
        ),
        7.0,
    ),
    "print": (("print",), 7.0),
    "print of a dark page": (("(prefers-color-scheme: dark)", "print"), 7.0),
}
"""The media queries that hold in each scheme, in the order of the style sheet; WCAG's AA for
all, AAA where somebody asked for contrast, or paper is all that remains.
"""


def properties(query: str | None) -> dict[str, str]:
    start = 0 if query is None else CSS.index(f"@media {query} {{\n  :root")
    block = CSS[CSS.index(":root {", start) :].partition("}")[0]
    return dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})(?![0-9a-f])", block))


def luminance(colour: str) -> float:
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_w4_texts_have_enough_contrast(scheme: str) -> None:
    queries, enough = SCHEMES[scheme]
    colours = properties(None)
    for query in queries:
        colours |= properties(query)
    pairs = {(text, ground) for text in TEXT for ground in GROUNDS} | {("accent-ink", "accent")}
    found = {pair: contrast(colours[pair[0]], colours[pair[1]]) for pair in pairs}
    assert not {pair: ratio for pair, ratio in found.items() if ratio < enough}


def test_w4_nothing_moves_if_the_visitor_asks_for_less_motion() -> None:
    without = CSS.replace("transition: none", "").replace("animation: none", "")
    for moving in re.finditer(r"\b(transition|animation)[\w-]*:", without):
        before = without[: moving.start()].rpartition("@media")[2]
        assert before.startswith(" (prefers-reduced-motion: no-preference)"), moving
