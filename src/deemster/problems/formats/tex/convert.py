"""Converts TeX to Markdown and keeps formulas; invalid TeX never raises an error."""

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from deemster.problems.formats.tex.commands import (
    ACCENTS,
    ALIGNED_MATH,
    DISPLAY_MATH,
    DROPPED,
    HEADINGS,
    LISTS,
    PLACED,
    SECTIONS,
    SWITCHES,
    SYMBOLS,
    TABLES,
    TYPED,
    WRAPPED,
)
from deemster.problems.formats.tex.preprocess import (
    ENVIRONMENT,
    MAX_DEPTH,
    VERBATIM,
    expand_macros,
    find_environments,
    matching_braces,
    without_comments,
)

COMMAND = re.compile(r"\\([a-zA-Z]+)\*?|\\(.)", re.DOTALL)
ROW_END, AMPERSAND = "\ue000", "\ue001"
"""Placeholders for `\\\\` and `\\&` until tables are converted."""
ITEM = re.compile(r"\\item\b\s*(?:\[([^\]]*)\])?\s*")


def tex_to_markdown(text: str, constants: Mapping[str, str]) -> str:
    clean = text.replace(ROW_END, "").replace(AMPERSAND, "")
    document = TexDocument.of(expand_macros(without_comments(clean)), constants)
    written = document.convert(0, len(document.text), 0)
    written = written.replace(ROW_END, "\n").replace(AMPERSAND, "&")
    lines = [line.rstrip() for line in written.split("\n")]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


def plain_tex(text: str) -> str:
    """A short text without formatting, such as a problem's name."""
    return " ".join(re.sub(r"[$*`{}]", "", tex_to_markdown(text, {})).split())


def tex_argument(text: str, command: str) -> str | None:
    """The argument in braces after the first use of a command."""
    clean = without_comments(text)
    found = re.search(rf"\\{command}\s*(?=\{{)", clean)
    if found is None:
        return None
    closing = matching_braces(clean).get(found.end())
    return None if closing is None else clean[found.end() + 1 : closing].strip()


@dataclass(slots=True)
class TexDocument:
    """A text with the positions of its braces and environments, so that it is read once."""

    text: str
    constants: Mapping[str, str]
    braces: Mapping[int, int]
    environments: Mapping[int, tuple[str, int, int, int]]
    """By start: name, start and end of the content, end."""
    lists: Sequence[int]
    """Starts of lists, sorted."""
    absent: set[str] = field(default_factory=set)
    """Closing marks that do not occur any more."""

    @classmethod
    def of(cls, text: str, constants: Mapping[str, str]) -> "TexDocument":
        environments = find_environments(text)
        lists = sorted(
            at for at, (name, *_) in environments.items() if name.rstrip("*") in LISTS
        )
        return cls(text, constants, matching_braces(text), environments, lists)

    # ---- running text ----

    def convert(self, at: int, end: int, depth: int) -> str:
        if depth > MAX_DEPTH:
            return self.text[at:end]
        out: list[str] = []
        while at < end:
            written, at = self.step(at, end, depth)
            out.append(written)
        return "".join(out)

    def step(self, at: int, end: int, depth: int) -> tuple[str, int]:
        """Converts one element; returns the start of the next."""
        character = self.text[at]
        if character == "\\":
            return self.command(at, end, depth)
        if character == "$":
            return self.dollars(at, end)
        if character in "{}":
            closing = self.braces.get(at, end)
            if closing < end:
                return self.group(at + 1, closing, depth), closing + 1
            return "", at + 1
        if character == "\n":
            return character, self.after_space(at + 1, end)
        typed, meant = next(
            (each for each in TYPED if self.text.startswith(each[0], at)),
            (character, character),
        )
        return meant, at + len(typed)

    def group(self, at: int, end: int, depth: int) -> str:
        """Text in braces; an old font switch at its start applies to all of it."""
        found = COMMAND.match(self.text, at, end)
        inside = self.convert(at, end, depth + 1)
        if found and found[1] in SWITCHES:
            return wrap(WRAPPED[found[1]], inside)
        return inside

    def dollars(self, at: int, end: int) -> tuple[str, int]:
        mark = "$$" if self.text.startswith("$$", at) else "$"
        return self.math(at + len(mark), end, mark, mark) or (mark, at + len(mark))

    def math(self, at: int, end: int, closing: str, shown: str) -> tuple[str, int] | None:
        """The formula up to the closing mark; None: there is no closing mark."""
        found = self.find(closing, at)
        while found > 0 and self.text[found - 1] == "\\" and closing[0] == "$":
            found = self.find(closing, found + 1)
        if not 0 <= found < end:
            return None
        inside = self.with_constants(self.text[at:found])
        return f"{shown}{inside.strip()}{shown}", found + len(closing)

    def find(self, mark: str, at: int) -> int:
        found = -1 if mark in self.absent else self.text.find(mark, at)
        if found < 0:
            self.absent.add(mark)
        return found

    def with_constants(self, text: str) -> str:
        return re.sub(r"\\constant\s*\{(\w+)\}", lambda m: self.constants.get(m[1], m[0]), text)

    # ---- commands ----

    def command(self, at: int, end: int, depth: int) -> tuple[str, int]:
        if at in self.environments:
            return self.environment(at, end, depth)
        marked = ENVIRONMENT.match(self.text, at, end)
        if marked:
            return "", marked.end()
        found = COMMAND.match(self.text, at, end)
        if found is None:
            return "", at + 1
        name = found[1] or found[2]
        handler = HANDLERS.get(name)
        if handler is not None:
            return handler(self, name, found.end(), end, depth)
        if found[2]:
            return self.escaped(found[2], found.end(), end, depth)
        return self.named(name, found.end(), end, depth)

    def escaped(self, character: str, at: int, end: int, depth: int) -> tuple[str, int]:
        if character in "([":
            closing, shown = (r"\)", "$") if character == "(" else (r"\]", "$$")
            return self.math(at, end, closing, shown) or ("", at)
        if character == "\\":
            return ROW_END, self.after_option(at, end)
        if character == "&":
            return AMPERSAND, at
        if character in ACCENTS:
            return self.accent(character, at, end, depth)
        if character in ",;:!/@-":
            return " " if character in ",;:" else "", at
        return character, at

    def named(self, name: str, at: int, end: int, depth: int) -> tuple[str, int]:
        if name in SYMBOLS or name in SWITCHES:
            return SYMBOLS.get(name, ""), self.after_space(at, end)
        if name in WRAPPED:
            inside, after = self.argument(at, end, depth)
            return wrap(WRAPPED[name], inside), after
        if name in HEADINGS:
            inside, after = self.argument(at, end, depth)
            return f"\n\n{HEADINGS[name]} {inside.strip()}\n\n", after
        if name in ACCENTS:
            return self.accent(name, at, end, depth)
        if name in DROPPED:
            at = self.after_option(at, end)
            for _ in range(DROPPED[name]):
                at = self.after_argument(at, end)
            return "", at
        return "", self.after_option(at, end)

    def accent(self, name: str, at: int, end: int, depth: int) -> tuple[str, int]:
        inside, after = self.argument(at, end, depth)
        if not inside:
            return name if name in "^~" else "", after
        letter = "i" if inside[0] == "\u0131" else inside[0]
        return unicodedata.normalize("NFC", letter + ACCENTS[name]) + inside[1:], after

    # ---- arguments ----

    def argument(self, at: int, end: int, depth: int) -> tuple[str, int]:
        """The text of the next braces or the next single element."""
        start = self.after_space(at, end)
        if start >= end:
            return "", end
        return self.step(start, end, depth + 1) if depth <= MAX_DEPTH else ("", start + 1)

    def raw_argument(self, at: int, end: int) -> tuple[str, int]:
        start = self.after_space(self.after_option(at, end), end)
        closing = self.braces.get(start, end)
        if closing >= end:
            return "", at
        return self.text[start + 1 : closing].strip(), closing + 1

    def after_space(self, at: int, end: int) -> int:
        while at < end and self.text[at] in " \t":
            at += 1
        return at

    def after_option(self, at: int, end: int) -> int:
        """The position after `[…]`, if that comes next."""
        start = self.after_space(at, end)
        if start >= end or self.text[start] != "[":
            return at
        closing = self.find("]", start)
        return closing + 1 if 0 <= closing < end else at

    def after_argument(self, at: int, end: int) -> int:
        start = self.after_space(at, end)
        closing = self.braces.get(start, end)
        return closing + 1 if closing < end else at

    # ---- environments ----

    def environment(self, at: int, end: int, depth: int) -> tuple[str, int]:
        name, inside, inside_end, after = self.environments[at]
        if after > end:
            return "", inside
        plain = name.rstrip("*")
        if plain in VERBATIM:
            start = self.after_option(inside, inside_end)
            code = self.text[start:inside_end].strip("\n")
            return f"\n```\n{code}\n```\n", after
        if plain in DISPLAY_MATH or plain in ALIGNED_MATH:
            whole = (
                self.text[at:after] if plain in ALIGNED_MATH else self.text[inside:inside_end]
            )
            return f"\n$${self.with_constants(whole).strip()}$$\n", after
        if plain in LISTS:
            return self.items(LISTS[plain], inside, inside_end, depth), after
        if plain == "comment":
            return "", after
        return self.body(plain, inside, inside_end, depth), after

    def body(self, name: str, at: int, end: int, depth: int) -> str:
        start = self.after_option(at, end)
        for _ in range(TABLES.get(name, PLACED.get(name, 0))):
            start = self.after_argument(start, end)
        text = self.convert(start, end, depth + 1)
        if name in TABLES:
            return f"\n{table(text)}\n"
        heading = f"\n\n## {name}\n\n" if name in SECTIONS else "\n"
        return f"{heading}{text}\n"

    def items(self, mark: str, at: int, end: int, depth: int) -> str:
        starts = list(self.own_items(at, end))
        lines: list[str] = []
        for number, found in enumerate(starts):
            stop = starts[number + 1].start() if number + 1 < len(starts) else end
            body = self.convert(found.end(), stop, depth + 1).strip()
            name = f"**{found[1]}** " if found[1] else ""
            lines.append(f"{mark} {name}" + re.sub(r"\n+", "\n  ", body))
        return "\n\n" + "\n".join(lines) + "\n\n"

    def own_items(self, at: int, end: int) -> Iterator[re.Match[str]]:
        """The items of a list without those of nested lists."""
        while found := ITEM.search(self.text, at, end):
            inner = bisect_left(self.lists, at)
            if inner < len(self.lists) and self.lists[inner] < found.start():
                at = self.environments[self.lists[inner]][3]
                continue
            yield found
            at = found.end()


def wrap(mark: str, inside: str) -> str:
    """Puts marks around a text but inside its outer spaces."""
    text = inside.strip()
    if not text:
        return inside
    lead, trail = inside[: len(inside) - len(inside.lstrip())], inside[len(inside.rstrip()) :]
    return f"{lead}{mark}{text}{mark}{trail}"


def table(body: str) -> str:
    """A Markdown table from the rows of a tabular."""
    rows = [" ".join(row.split()) for row in body.split(ROW_END)]
    cells = [
        [cell.strip() for cell in row.replace("|", "\\|").split("&")] for row in rows if row
    ]
    if not cells:
        return ""
    width = max(map(len, cells))
    lines = [f"| {' | '.join(row + [''] * (width - len(row)))} |" for row in cells]
    return "\n".join([lines[0], "|" + " --- |" * width, *lines[1:]])


# ---- commands with special arguments ----


def constant(document: TexDocument, _: str, at: int, end: int, __: int) -> tuple[str, int]:
    name, after = document.raw_argument(at, end)
    return document.constants.get(name, name), after


def link(document: TexDocument, name: str, at: int, end: int, depth: int) -> tuple[str, int]:
    written, after = document.raw_argument(at, end)
    address = re.sub(r"\\([_#%&~])", r"\1", written)
    if name == "url":
        return f"<{address}>" if address else "", after
    text, after = document.argument(after, end, depth)
    return f"[{text.strip()}]({address})", after


def picture(document: TexDocument, name: str, at: int, end: int, depth: int) -> tuple[str, int]:
    if name == "includegraphics":
        file, after = document.raw_argument(at, end)
        return f"![]({file})", after
    file, after = document.raw_argument(document.after_argument(at, end), end)
    caption, after = document.argument(after, end, depth)
    return f"![{' '.join(caption.split())}]({file})\n", after


def footnote(document: TexDocument, _: str, at: int, end: int, depth: int) -> tuple[str, int]:
    text, after = document.argument(at, end, depth)
    return f" ({text.strip()})", after


def verbatim_word(document: TexDocument, _: str, at: int, end: int, __: int) -> tuple[str, int]:
    """`\\verb|x|`: any character may be the mark."""
    at = document.after_option(at, end)
    if at >= end:
        return "", end
    mark = "}" if document.text[at] == "{" else document.text[at]
    closing = document.find(mark, at + 1)
    if not 0 <= closing < end:
        return "", at + 1
    return f"`{document.text[at + 1 : closing]}`", closing + 1


Handler = Callable[[TexDocument, str, int, int, int], tuple[str, int]]
HANDLERS: dict[str, Handler] = {
    "constant": constant,
    "url": link,
    "href": link,
    "includegraphics": picture,
    "illustration": picture,
    "footnote": footnote,
    "verb": verbatim_word,
    "lstinline": verbatim_word,
}
