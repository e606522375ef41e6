"""The texts that scripts show; a page has their translations, so scripts need no catalogue."""

from typing import Final

from deemster.web.language import SOURCE, PageLanguage

TEXTS: Final = (
    "A program could not be saved. If you log out now, it is lost. Log out?",
    "Copied",
    "Copy",
    "Escape, then Tab leaves the editor",
    "Kept only in this browser: {why}",
    "No answer from the judge: your submission is sent again",
    "Not connected: trying again",
    "Not connected: your program is kept in this browser and saved later",
    "Not saved yet",
    "Running",
    "Saved",
    "Sending…",
    "The output differs from the sample",
    "The output is that of the sample",
    "The program has ended",
    "Waiting for a free place",
    "Your solution",
    "no output",
)


def translated_texts(language: PageLanguage) -> dict[str, str]:
    """By their English wording; empty for English pages."""
    if language.code == SOURCE:
        return {}
    return {each: language.translations.gettext(each) for each in TEXTS}
