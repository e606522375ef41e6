"""The Jinja environments of the pages, one for each language."""

from functools import cache, partial
from typing import Final

from jinja2 import Environment, PackageLoader, StrictUndefined, pass_context
from markupsafe import Markup

from deemster import __version__
from deemster.web import formats
from deemster.web.error_texts import LABELS, to_language
from deemster.web.island_texts import translated_texts
from deemster.web.language import LANGUAGES, language
from deemster.web.math import with_mathml
from deemster.web.static_files import script_url, url_of

TEMPLATES: Final = "templates"


@cache
def environment(code: str) -> Environment:
    made = Environment(
        loader=PackageLoader("deemster.web", TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        extensions=["jinja2.ext.i18n"],
        trim_blocks=True,
        lstrip_blocks=True,
    )
    chosen = language(code)
    made.install_gettext_translations(chosen.translations, newstyle=True)  # type: ignore[attr-defined]
    made.globals.update(
        url_of=url_of,
        script_url=script_url,
        language_code=code,
        island_texts=translated_texts(chosen),
        page_languages=LANGUAGES,
        looks=formats.LOOKS,
        field_labels=LABELS,
        version=__version__,
    )
    made.filters.update(
        date=pass_context(partial(formats.date, locale=chosen.locale)),
        megabytes=partial(formats.megabytes, locale=chosen.locale),
        number=partial(formats.number, locale=chosen.locale),
        told=lambda message: to_language(message, chosen).text,
        seconds=partial(formats.seconds, locale=chosen.locale),
        statement=lambda html: Markup(with_mathml(html)),  # noqa: S704 - cleaned on import
    )
    return made
