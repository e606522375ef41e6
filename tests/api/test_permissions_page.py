"""The table in docs/accounts.md matches the code; run as a module, this writes it."""

from pathlib import Path

from deemster.api.permissions import HOST, PERMISSIONS, Permission
from deemster.domain.account import Role, Scope

PAGE = Path(__file__).parents[2] / "docs" / "accounts.md"
BEGIN, END = "<!-- permissions -->\n", "<!-- /permissions -->\n"


def table() -> str:
    lines = ["| | | role | scope |", "|---|---|---|---|"]
    for (method, path), need in sorted(PERMISSIONS.items(), key=lambda each: each[0][::-1]):
        who = "anyone | "
        if isinstance(need, Permission):
            who = f"{need.role} | `{need.scope}`"
        elif need is HOST:
            who = "judge host | "
        lines.append(f"| {method} | `{path}` | {who} |")
    return "\n".join(lines) + "\n"


def page(text: str) -> str:
    head, _, rest = text.partition(BEGIN)
    _, _, tail = rest.partition(END)
    return head + BEGIN + table() + END + tail


def test_the_table_in_the_docs_is_current() -> None:
    text = PAGE.read_text()
    assert text == page(text), "run python -m tests.api.test_permissions_page"


def test_the_docs_name_every_role_and_scope() -> None:
    text = PAGE.read_text()
    for each in (*Role, *Scope):
        assert f"| `{each}` |" in text


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text()))
