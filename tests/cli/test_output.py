"""What strangers wrote is printed as text, and neither controls the terminal nor hides."""

import pytest

from deemster.cli.output import as_printable
from deemster.cli.submission import print_judgement
from deemster.client.models.parsing import parse
from deemster.client.models.submissions import Judgement

ESCAPE = "\x1b]52;c;ZXZpbA==\x07\x1b[2J\x1b[HAccepted\r\u202e"


def test_control_characters_are_shown_as_escapes() -> None:
    assert as_printable("a\tb\nc ü") == "a\tb\nc ü"
    assert as_printable("\x1b[2J\r\x9b\u202e") == r"\x1b[2J\r\x9b\u202e"


def test_o8_the_jury_sees_the_output_of_a_hostile_program_as_text(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """O8: also names of groups and cases, in which brackets are no styles."""
    case = {"number": 1, "name": f"[/] {ESCAPE}", "verdict": "Wrong Answer", "output": ESCAPE}
    case |= {
        "stderr": ESCAPE,
        "is_sample": False,
        "runs": 1,
        "time_ms": 1,
        "limit_ms": 1,
        "memory_kb": 1,
        "wall_ms": 1,
    }
    found = {
        "id": "sub_1",
        "status": "finished",
        "problem_id": "prob_1",
        "language": "c",
        "user": "eve",
        "verdict": "Wrong Answer",
        "compiler_output": ESCAPE,
        "groups": [{"name": "[/x] [red]a", "verdict": None}],
        "cases": [case],
    }
    print_judgement(parse(Judgement, found))
    shown = capsys.readouterr().out
    assert "[/x] [red]a" in shown
    assert shown.count(r"\x1b[2J") == 4
    assert not {"\x1b", "\r", "\x07", "\u202e"} & set(shown)
