"""Writes the log-ins of imported accounts as CSV and as a sheet to print and cut (K4)."""

import csv
import io
from collections.abc import Mapping, Sequence
from html import escape
from typing import Final, Protocol

CSV_TYPE: Final = "text/csv"
HTML_TYPE: Final = "text/html"
FORMULA_STARTS: Final = ("=", "+", "-", "@", "\t", "\r")
SHEET_STYLE: Final = """
@page { margin: 12mm; }
body { margin: 0; font: 11pt/1.4 system-ui, sans-serif; color: #000; background: #fff; }
main { display: grid; grid-template-columns: repeat(2, 1fr); }
section { border: 1px dashed #999; padding: 4mm; break-inside: avoid; }
h2 { margin: 0 0 2mm; font-size: 13pt; }
p { margin: 0 0 1mm; overflow-wrap: anywhere; }
code { font-size: 12pt; }
"""


class ShownLogIn(Protocol):
    """A log-in as the request's answer or the command has it."""

    @property
    def name(self) -> str: ...
    @property
    def outcome(self) -> str: ...
    @property
    def password(self) -> str | None: ...
    @property
    def link(self) -> str | None: ...
    @property
    def other(self) -> Mapping[str, str]: ...


def to_csv(log_ins: Sequence[ShownLogIn]) -> str:
    """Has the columns of the class list that Deemster does not use, too."""
    others = list(dict.fromkeys(heading for each in log_ins for heading in each.other))
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(["name", *map(as_text_cell, others), "outcome", "password", "link"])
    for each in log_ins:
        cells = [as_text_cell(each.other.get(heading, "")) for heading in others]
        writer.writerow([each.name, *cells, each.outcome, each.password or "", each.link or ""])
    return text.getvalue()


def as_text_cell(cell: str) -> str:
    """A name such as `=HYPERLINK(…)`, which students may have chosen themselves, would be a
    formula in a spreadsheet. The apostrophe makes it a text.
    """
    return f"'{cell}" if cell.startswith(FORMULA_STARTS) and not is_number(cell) else cell


def is_number(cell: str) -> bool:
    """A number or a telephone number, which may begin with a sign."""
    return cell[1:].replace(" ", "").replace(".", "").replace("-", "").isdecimal()


def to_sheet(log_ins: Sequence[ShownLogIn], base_url: str, link_days: int) -> str:
    """An HTML page with one slip of paper for each account that got credentials."""
    slips = "\n".join(
        slip(each, base_url, link_days) for each in log_ins if each.password or each.link
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f"<title>Log-ins</title>\n<style>{SHEET_STYLE}</style>\n</head>\n"
        f"<body>\n<main>\n{slips}\n</main>\n</body>\n</html>\n"
    )


def slip(log_in: ShownLogIn, base_url: str, link_days: int) -> str:
    lines = [f"{escape(heading)}: {escape(cell)}" for heading, cell in log_in.other.items()]
    lines.append(f"Account: <code>{escape(log_in.name)}</code>")
    if log_in.password:
        lines.append(f"Password: <code>{escape(log_in.password)}</code>")
        lines.append(f"Log in at <code>{escape(base_url)}</code>")
    if log_in.link:
        lines.append(f"Open this once, within {link_days} days to log in:")
        lines.append(f"<code>{escape(log_in.link)}</code>")
    text = "\n".join(f"<p>{line}</p>" for line in lines)
    return f"<section>\n<h2>{escape(log_in.name)}</h2>\n{text}\n</section>"
