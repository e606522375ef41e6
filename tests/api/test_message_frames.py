"""Messages of language servers are found in any chunks; what is no frame is noticed (X6)."""

import pytest

from deemster.api.message_frames import (
    HEADER_BYTES,
    MESSAGE_BYTES,
    BrokenFrame,
    FrameReader,
    frame,
)

MESSAGES = [
    b'{"id": 1}',
    "é漢".encode(),
    b"",
    b"\r\n\r\nContent-Length: 5\r\n\r\n",
    b"x" * 9000,
]


@pytest.mark.parametrize("size", [1, 7, 1000, 1 << 20])
def test_messages_are_found_whatever_the_size_of_the_chunks(size: int) -> None:
    whole = b"".join(map(frame, MESSAGES))
    reader = FrameReader()
    found = []
    for at in range(0, len(whole), size):
        found += reader.feed(whole[at : at + size])
    assert found == MESSAGES


def test_other_headers_are_skipped() -> None:
    header = (
        b"Content-Type: application/vscode-jsonrpc; charset=utf-8\r\ncontent-length:2\r\n\r\n"
    )
    assert FrameReader().feed(header + b"{}{}") == [b"{}"]


@pytest.mark.parametrize(
    "written",
    [
        b"Segmentation fault\r\n\r\n",
        b"Content-Length: -1\r\n\r\n",
        b"Content-Length: many\r\n\r\n",
        b"Content-Length: %d\r\n\r\n" % (MESSAGE_BYTES + 1),
        b"Content-Length: 99999999999999999999\r\n\r\n",
        b"x" * HEADER_BYTES,
    ],
)
def test_what_is_no_frame_is_noticed(written: bytes) -> None:
    with pytest.raises(BrokenFrame):
        FrameReader().feed(written)
