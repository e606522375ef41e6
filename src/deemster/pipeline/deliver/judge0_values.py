"""How Judge0 writes values: texts in base64, decimals, times and archives."""

import binascii
import io
import zipfile
from collections.abc import Mapping
from datetime import datetime


class NotUtf8(Exception):
    """A field is not text, and the client did not ask for base64."""


def encode(content: bytes) -> str:
    """Base64 as Ruby writes it: lines of 60 characters, with a newline after the last."""
    lines = (content[at : at + 45] for at in range(0, len(content), 45))
    return "".join(binascii.b2a_base64(line).decode() for line in lines)


def zipped(files: Mapping[str, bytes]) -> bytes:
    """Not compressed: clients ask for it again and again while they wait."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as opened:
        for name, content in sorted(files.items()):
            opened.writestr(zipfile.ZipInfo(name), content)
    return archive.getvalue()


def text_of(content: bytes | None, *, as_base64: bool) -> str | None:
    if not content:
        return None
    if as_base64:
        return encode(content)
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise NotUtf8 from None


def decimal(value: float) -> str:
    """At most three digits after the point, and at least one."""
    text = f"{value:.3f}".rstrip("0")
    return text + "0" if text.endswith(".") else text


def timestamp(at: datetime | None) -> str | None:
    if at is None:
        return None
    return at.strftime("%Y-%m-%dT%H:%M:%S.") + f"{at.microsecond // 1000:03}Z"


def same_output(one: bytes, other: bytes) -> bool:
    """Ignores white space at the end of lines and of the whole."""

    def stripped(output: bytes) -> bytes:
        return b"\n".join(line.rstrip() for line in output.split(b"\n")).rstrip()

    return stripped(one) == stripped(other)
