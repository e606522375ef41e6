"""The Markdown equivalents of TeX commands and environments."""

WRAPPED = {
    **dict.fromkeys(("emph", "textit", "textsl", "em", "it", "itshape"), "*"),
    **dict.fromkeys(("textbf", "bf", "bfseries"), "**"),
    **dict.fromkeys(("texttt", "tt", "ttfamily"), "`"),
    "sout": "~~",
}
SWITCHES = frozenset({"em", "it", "itshape", "bf", "bfseries", "tt", "ttfamily"})
HEADINGS = {"section": "##", "subsection": "###", "subsubsection": "####", "paragraph": "####"}
SECTIONS = frozenset({"Input", "Output", "Interaction"})
DISPLAY_MATH = frozenset({"equation", "displaymath", "math"})
ALIGNED_MATH = frozenset({"align", "gather", "eqnarray", "multline", "alignat", "flalign"})
TABLES = {"tabular": 1, "tabularx": 2, "tabulary": 2, "longtable": 1, "array": 1}
LISTS = {"itemize": "-", "enumerate": "1.", "description": "-"}
PLACED = {"wrapfigure": 2, "minipage": 1, "multicols": 1, "figure": 0, "table": 0}
"""Environments with the number of arguments that only concern layout."""
DROPPED = {
    **dict.fromkeys(("problemname", "label", "vspace", "hspace", "input", "color"), 1),
    **dict.fromkeys(("usepackage", "documentclass", "bibliography", "pagestyle", "cline"), 1),
    **dict.fromkeys(("setlength", "addtolength", "setcounter", "addtocounter"), 2),
    **dict.fromkeys(("parbox", "textcolor", "raisebox", "scalebox", "makebox", "fontsize"), 1),
    **dict.fromkeys(("multirow", "multicolumn", "resizebox"), 2),
    "definecolor": 3,
}
"""Commands with the number of arguments that are not text."""
SYMBOLS = {
    **dict.fromkeys(("ldots", "dots", "textellipsis"), "…"),
    **dict.fromkeys(("quad", "qquad", "hfill", "enspace", "thinspace"), " "),
    "par": "\n\n",
    "newline": "\n",
    "item": "\n- ",
    "textbackslash": "\\",
    "textasciitilde": "~",
    "textasciicircum": "^",
    "textless": "<",
    "textgreater": ">",
    "textbar": "|",
    "textendash": "\u2013",
    "textemdash": "—",
    "textquotesingle": "'",
    "textdegree": "°",
    "times": "\u00d7",
    "rightarrow": "→",
    "leftarrow": "←",
    "LaTeX": "LaTeX",
    "TeX": "TeX",
    "copyright": "©",
    "pounds": "£",
    "euro": "€",
    "S": "§",
    **dict(zip(("ss", "ae", "AE", "oe", "o", "O", "aa", "AA"), "ßæÆœøØåÅ", strict=True)),
    **dict(zip(("l", "L", "i"), "łŁ\u0131", strict=True)),
}
ACCENTS = {"'": "\u0301", "`": "\u0300", "^": "\u0302", '"': "\u0308", "~": "\u0303"}
ACCENTS |= {"=": "\u0304", ".": "\u0307", "c": "\u0327", "v": "\u030c", "u": "\u0306"}
ACCENTS |= {"H": "\u030b", "r": "\u030a", "k": "\u0328"}
TYPED = (("---", "—"), ("--", "\u2013"), ("``", "“"), ("''", "”"), ("`", "\u2018"), ("~", " "))
