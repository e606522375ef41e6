"""A model that obeys every injection which it can read, however it is written."""

import base64
import binascii
import codecs
import re
import unicodedata
from collections.abc import Iterable, Iterator
from typing import Any

from tests.services.model_server import Chat, Model, says

HOMOGLYPHS = str.maketrans("асеорхуіјѕԁһɡνοαρυ", "aceopxyijsdhgvoapu")  # noqa: RUF001
LEET = str.maketrans("013457", "oleast")


def obeying(phrases: Iterable[str], good: dict[str, str], honest: dict[str, str]) -> Model:
    wanted = {letters(phrase) for phrase in phrases}

    def model(chat: Chat) -> Any:
        return says(good if can_read(chat, wanted) else honest)(chat)

    return model


def can_read(chat: Chat, phrases: Iterable[str]) -> bool:
    views = list(readings("\n".join(text for _, _, text in chat.lines)))
    return any(phrase in view for phrase in phrases for view in views)


def letters(text: str) -> str:
    return "".join(each for each in text.lower() if each.isalpha())


def readings(text: str) -> Iterator[str]:
    """The letters of a text, in all ways in which a model could read it."""
    shown = unicodedata.normalize("NFKD", "".join(map(revealed, text)))
    shown = shown.lower().translate(HOMOGLYPHS)
    for each in (shown, unescaped(shown), codecs.encode(shown, "rot13"), shown.translate(LEET)):
        yield letters(each)
        yield letters(each)[::-1]
    for word in re.findall(r"[A-Za-z0-9+/]{12,}={0,2}", text):
        try:
            yield letters(base64.b64decode(word + "=" * (-len(word) % 4)).decode("latin-1"))
        except binascii.Error:
            continue
    numbers = [int(number, 0) for number in re.findall(r"0x[0-9a-f]+|\b[1-9][0-9]*", text)]
    yield letters("".join(chr(number) for number in numbers if 32 <= number < 127))
    for number in numbers:
        yield letters(number.to_bytes((number.bit_length() + 7) // 8).decode("latin-1"))
    yield letters("".join(line.strip()[:1] for line in text.split("\n")))


def revealed(character: str) -> str:
    code = ord(character)
    if 0xE0020 <= code <= 0xE007E:  # tag characters
        return chr(code - 0xE0000)
    if 0x1F1E6 <= code <= 0x1F1FF:  # regional indicators
        return chr(code - 0x1F1E6 + ord("a"))
    return "" if unicodedata.category(character) == "Cf" else character


def unescaped(text: str) -> str:
    return re.sub(
        r"\\(?:x([0-9a-f]{2})|u([0-9a-f]{4}))",
        lambda match: chr(int(match[1] or match[2], 16)),
        text,
    )
