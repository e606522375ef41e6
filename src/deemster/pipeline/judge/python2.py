"""Recognises programs that are written for Python 2, which is not supported."""

import re
from collections.abc import Iterable, Mapping

NEEDS_PYTHON2 = "needs Python 2, which is not supported: port it to Python 3."
ENDING = ".py2"
NAMES = frozenset({"py2", "python2", "python 2"})
"""Names of the language in packages."""
MARKS = re.compile(
    rb"""(?mx)
    \A\#![^\n]{0,200}python2
    | ^[ \t]*print[ \t]+["'\w%`] | ^[ \t]*print[ \t]*>>
    | ^[ \t]*except[ \t]+[\w.]+[ \t]*,[ \t]*\w+[ \t]*:
    | \braw_input\( | \bxrange\( | ^[ \t]*exec[ \t]+["'\w]
    """
)
"""What a program has that Python 3 refuses; a comment may contain it, too."""


def looks_like_python2(files: Mapping[str, bytes]) -> bool:
    """Whether a Python program that failed with Python 3 is probably of Python 2."""
    python = {name: text for name, text in files.items() if name.endswith((".py", ENDING))}
    return is_named_python2(python) or any(map(MARKS.search, python.values()))


def is_named_python2(names: Iterable[str]) -> bool:
    return any(name.endswith(ENDING) for name in names)
