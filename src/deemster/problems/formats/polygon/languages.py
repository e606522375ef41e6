"""Maps Polygon's names of natural and programming languages to ours."""

import re

CODES = {
    "afrikaans": "af", "arabic": "ar", "armenian": "hy", "azerbaijani": "az",
    "belarusian": "be", "bengali": "bn", "bosnian": "bs", "bulgarian": "bg", "chinese": "zh",
    "croatian": "hr", "czech": "cs", "danish": "da", "dutch": "nl", "english": "en",
    "estonian": "et", "farsi": "fa", "finnish": "fi", "french": "fr", "georgian": "ka",
    "german": "de", "greek": "el", "hebrew": "he", "hindi": "hi", "hungarian": "hu",
    "indonesian": "id", "italian": "it", "japanese": "ja", "kazakh": "kk", "korean": "ko",
    "kyrgyz": "ky", "latvian": "lv", "lithuanian": "lt", "macedonian": "mk", "malay": "ms",
    "mongolian": "mn", "norwegian": "no", "persian": "fa", "polish": "pl", "portuguese": "pt",
    "romanian": "ro", "russian": "ru", "serbian": "sr", "slovak": "sk", "slovene": "sl",
    "spanish": "es", "swedish": "sv", "tajik": "tg", "thai": "th", "turkish": "tr",
    "turkmen": "tk", "ukrainian": "uk", "uzbek": "uz", "vietnamese": "vi",
}  # fmt: skip

PROGRAMMING = [
    (r"cpp\..*\+\+2[3-9].*", "cpp23"),
    (r"cpp\..*\+\+20.*", "cpp20"),
    (r"cpp(\..*)?", "cpp17"),
    (r"c\..*", "c"),
    (r"java\.?\d*(\..*)?", "java"),
    (r"kotlin.*", "kotlin"),
    (r"(python\.)?pypy3?.*", "pypy3"),
    (r"python\.?3.*", "python3"),
    (r"(pas|delphi)(\..*)?", "pascal"),
    (r"(csharp|cs)(\..*)?", "csharp"),
    (r"(js|nodejs|javascript)(\..*)?", "javascript"),
    (r"(go|rust|ruby|perl|php|haskell|ocaml|typescript)\W.*", r"\1"),
]
"""By family, because Polygon adds a compiler every year; other names stay as they are."""


def language_code(name: str) -> str:
    return CODES.get(name.lower(), name.lower())


def program_language(kind: str) -> str | None:
    """The language of a source type; None: the file name decides."""
    if not kind or kind.lower().endswith("pypy2"):
        return kind or None
    for pattern, language in PROGRAMMING:
        if found := re.fullmatch(pattern, kind.lower()):
            return found.expand(language)
    return kind
