"""The texts that scripts show; a page has their translations, so scripts need no catalogue."""

from typing import Final

from deemster.web.language import SOURCE, Language

TEXTS: Final = (
    "Copied",
    "Copy",
)


def translated_texts(language: Language) -> dict[str, str]:
    """By their English wording; empty for English pages."""
    if language.code == SOURCE:
        return {}
    return {each: language.translations.gettext(each) for each in TEXTS}
