"""Live events that a connection tells again are left out (E8)."""

import pytest

from deemster.client import Output, StatusChange, UnexpectedAnswerError
from deemster.client.models.live import LiveEventParser

RUNNING = {"status": "RUNNING", "attempt": 1}


def test_e8_an_event_is_told_once() -> None:
    parser = LiveEventParser()

    def is_new(name: str, data: dict[str, object], event_id: str = "") -> bool:
        return parser.parse(name, data, event_id) is not None

    def is_new_output(event_id: str) -> bool:
        return is_new("output", {"stream": "stdout", "data": "x"}, event_id)

    assert is_new("status", RUNNING)
    assert not is_new("status", RUNNING)
    assert is_new_output("1.9")
    assert not is_new_output("1.9")
    assert not is_new_output("1.8")
    assert is_new_output("1.10")
    assert is_new("status", RUNNING | {"attempt": 2})
    assert is_new_output("2.1")
    assert parser.last_id == "2.1"
    assert not is_new("from a newer server", {})
    with pytest.raises(UnexpectedAnswerError, match="no id of output"):
        is_new_output("x")


def test_output_is_text_or_bytes() -> None:
    parser = LiveEventParser("1.1")
    text = parser.parse("output", {"stream": "stdout", "data": "\u00fc", "at_ms": 5}, "1.2")
    assert isinstance(text, Output)
    assert (text.content, text.text, text.at_ms) == (b"\xc3\xbc", "\u00fc", 5)
    half = parser.parse("output", {"stream": "stderr", "data_base64": "ww=="}, "1.3")
    assert isinstance(half, Output)
    assert (half.content, half.text, half.stream) == (b"\xc3", "\ufffd", "stderr")
    change = parser.parse("status", RUNNING, "")
    assert isinstance(change, StatusChange)
