"""Reads a class list, a CSV file with one account per line (K4)."""

import csv
import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from deemster.api.auth.passwords import check_password
from deemster.domain.account import Role, check_name
from deemster.domain.errors import Refused

MAX_ACCOUNTS: Final = 20_000
MAX_COLUMNS: Final = 50
MAX_CELL_CHARS: Final = 1_024
FAULTS_SHOWN: Final = 20
SEPARATORS: Final = ",;\t"
MAX_QUOTA: Final = 2**31 - 1


@dataclass(frozen=True, slots=True, repr=False)
class ClassListRow:
    line: int
    name: str
    role: Role
    password: str | None
    tier: int
    daily_quota: int | None
    other: Mapping[str, str]
    """Columns that Deemster does not use, such as the full name; the sheet shows them."""


def read_class_list(content: bytes) -> list[ClassListRow]:
    """Refuses the whole list if a line is wrong, and names the first such lines."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Refused("The file is not UTF-8: export it as CSV in UTF-8.") from None
    if "\0" in text:
        raise Refused("The file is not CSV: it has zero bytes.")
    rows: list[ClassListRow] = []
    faults: list[str] = []
    lines: dict[str, int] = {}
    for line, cells in numbered_cells(text):
        try:
            row = to_row(line, cells)
        except Refused as fault:
            faults.append(f"line {line}: {fault}")
            continue
        first = lines.setdefault(row.name.lower(), line)
        if first != line:
            faults.append(f"line {line}: {row.name} is already in line {first}.")
        rows.append(row)
    if faults:
        more = len(faults) - FAULTS_SHOWN
        if more > 0:
            faults[FAULTS_SHOWN:] = [f"And {more} more."]
        raise Refused(
            "\n".join(["Nothing was imported, because the list has mistakes.", *faults])
        )
    if not rows:
        raise Refused("The list has no accounts: write one per line below the headings.")
    return rows


def numbered_cells(text: str) -> Iterator[tuple[int, dict[str, str]]]:
    """Yields the line and the cells of each account, by heading; skips empty lines."""
    heading = text.partition("\n")[0]
    separator = max(SEPARATORS, key=heading.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    count = 0
    try:
        headings = check_headings(next(reader, []))
        for cells in reader:
            if not any(cell.strip() for cell in cells):
                continue
            count += 1
            if count > MAX_ACCOUNTS:
                raise Refused(f"The list has more than {MAX_ACCOUNTS:,} accounts: split it.")
            if len(cells) > len(headings):
                raise Refused(
                    f"line {reader.line_num} has {len(cells)} cells, but there are only "
                    f"{len(headings)} headings: put cells that contain {separator!r} in quotes."
                )
            yield reader.line_num, dict(zip(headings, map(str.strip, cells), strict=False))
    except csv.Error as fault:
        raise Refused(f"line {reader.line_num} is not valid CSV: {fault}.") from None


def check_headings(cells: list[str]) -> list[str]:
    headings = [cell.strip() for cell in cells]
    headings = [each.lower() if each.lower() in USED else each for each in headings]
    if "name" not in headings:
        raise Refused(
            "The first line must have the headings of the columns, and one of them must be "
            "name: the name of the account. Optional are role, password, tier and daily_quota."
        )
    twice = sorted({each for each in headings if headings.count(each) > 1})
    if twice:
        raise Refused(f"The heading {twice[0][:80]!r} occurs twice: rename one of them.")
    if len(headings) > MAX_COLUMNS:
        raise Refused(f"The list has more than {MAX_COLUMNS} columns: leave some out.")
    return headings


USED: Final = frozenset({"name", "role", "password", "tier", "daily_quota"})


def to_row(line: int, cells: Mapping[str, str]) -> ClassListRow:
    if any(len(cell) > MAX_CELL_CHARS for cell in cells.values()):
        raise Refused(f"a cell has more than {MAX_CELL_CHARS:,} characters.")
    password = cells.get("password") or None
    quota = cells.get("daily_quota") or None
    return ClassListRow(
        line=line,
        name=check_name(cells.get("name", "")),
        role=to_role(cells.get("role") or Role.USER),
        password=check_password(password) if password else None,
        tier=to_number("tier", cells.get("tier") or "0", 1),
        daily_quota=to_number("daily_quota", quota, MAX_QUOTA) if quota else None,
        other={heading: cell for heading, cell in cells.items() if heading not in USED},
    )


def to_role(text: str) -> Role:
    try:
        return Role(text.lower())
    except ValueError:
        raise Refused(f"{text[:80]!r} is no role: use {', '.join(Role)}.") from None


def to_number(heading: str, text: str, most: int) -> int:
    if not (text.isascii() and text.isdecimal()) or int(text) > most:
        raise Refused(f"{heading} must be a number from 0 to {most:,}.")
    return int(text)
