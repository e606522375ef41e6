"""Reads a form with a file, part by part, into a file that the caller opened (D3)."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import BinaryIO, Final

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header

from deemster.api.authentication import session_of
from deemster.api.http.errors import Malformed, TooSlow, WrongMedia
from deemster.api.http.upload import UPLOAD_TIMEOUT_S, parts_of
from deemster.domain.errors import Unavailable
from deemster.domain.limits import MIB
from deemster.web.page import CSRF_FIELD, MAX_FIELDS, PageRequest

MULTIPART: Final = b"multipart/form-data"
FIELD_BYTES: Final = 4096
FORM_BYTES: Final = 1 * MIB
"""Room for the fields and the boundaries around the file."""


@dataclass(slots=True)
class FormWriter:
    """Takes the parts of a form as the parser finds them."""

    target: BinaryIO
    fields: dict[str, str] = field(default_factory=dict)
    filename: str = ""
    size_bytes: int = 0
    _header: bytes = b""
    _disposition: bytes = b""
    _name: str = ""
    _is_file: bool = False
    _value: bytearray = field(default_factory=bytearray)

    def begin_part(self) -> None:
        self._header, self._disposition, self._name, self._is_file = b"", b"", "", False
        self._value.clear()

    def header_name(self, data: bytes, start: int, end: int) -> None:
        self._header += data[start:end]

    def header_value(self, data: bytes, start: int, end: int) -> None:
        if self._header.lower() == b"content-disposition":
            self._disposition += data[start:end]

    def end_header(self) -> None:
        self._header = b""

    def end_headers(self) -> None:
        _, options = parse_options_header(self._disposition)
        self._name = options.get(b"name", b"").decode("utf-8", "replace")
        self._is_file = b"filename" in options
        if self._is_file:
            self.filename = options[b"filename"].decode("utf-8", "replace")

    def part_data(self, data: bytes, start: int, end: int) -> None:
        if self._is_file:
            self.target.write(data[start:end])
            self.size_bytes += end - start
        elif len(self._value) + end - start <= FIELD_BYTES:
            self._value += data[start:end]
        else:
            raise Malformed("A field of the form is too long.")

    def end_part(self) -> None:
        if not self._is_file:
            if len(self.fields) >= MAX_FIELDS:
                raise Malformed("The form has too many fields.")
            self.fields[self._name] = self._value.decode("utf-8", "replace")


async def read_upload(page: PageRequest, target: BinaryIO, max_bytes: int) -> FormWriter:
    """Refuses a form of another site before its file is stored: its token stands first."""
    media_type, options = parse_options_header(page.request.headers.get("content-type", ""))
    boundary = options.get(b"boundary", b"")
    if media_type != MULTIPART or not boundary:
        raise WrongMedia("Send the form as multipart/form-data.")
    form = FormWriter(target)
    is_checked = False
    try:
        parser = parser_for(form, boundary)
        async with asyncio.timeout(UPLOAD_TIMEOUT_S):
            async for part in parts_of(page.request, max_bytes + FORM_BYTES):
                await asyncio.to_thread(parser.write, part)
                if not is_checked:
                    check_token(page, form.fields)
                    is_checked = True
        parser.finalize()
    except TimeoutError:
        raise TooSlow("The file took too long to arrive.") from None
    except FormParserError:
        raise Malformed("The form is not valid multipart/form-data.") from None
    except OSError as fault:
        raise Unavailable(
            f"The file can't be stored ({fault.strerror}): free some disk space."
        ) from fault
    return form


def parser_for(form: FormWriter, boundary: bytes) -> MultipartParser:
    """Raises FormParserError if the boundary is too long."""
    return MultipartParser(
        boundary,
        {
            "on_part_begin": form.begin_part,
            "on_header_field": form.header_name,
            "on_header_value": form.header_value,
            "on_header_end": form.end_header,
            "on_headers_finished": form.end_headers,
            "on_part_data": form.part_data,
            "on_part_end": form.end_part,
        },
    )


def check_token(page: PageRequest, fields: Mapping[str, str]) -> None:
    digest = session_of(page.request)
    assert digest is not None, "only sessions have pages"
    page.state.auth.cookies.check_csrf_token(fields.get(CSRF_FIELD, ""), digest)
