"""OMML equations of Office documents as LaTeX, which people and models read as text."""

import unicodedata
from collections.abc import Callable, Mapping

from reverie.ingest.documents import officeparts, trees

# Signs and the LaTeX commands for them (amsmath, esint).
SYMBOLS = {
    "α": "alpha",
    "β": "beta",
    "γ": "gamma",
    "δ": "delta",
    "ε": "epsilon",
    "ϵ": "epsilon",
    "ζ": "zeta",
    "η": "eta",
    "θ": "theta",
    "ι": "iota",
    "κ": "kappa",
    "λ": "lambda",
    "μ": "mu",
    "ν": "nu",
    "ξ": "xi",
    "π": "pi",
    "ρ": "rho",
    "σ": "sigma",
    "τ": "tau",
    "φ": "phi",
    "ϕ": "phi",
    "χ": "chi",
    "ψ": "psi",
    "ω": "omega",
    "Γ": "Gamma",
    "Δ": "Delta",
    "Θ": "Theta",
    "Λ": "Lambda",
    "Ξ": "Xi",
    "Π": "Pi",
    "Σ": "Sigma",
    "Φ": "Phi",
    "Ψ": "Psi",
    "Ω": "Omega",
    "∞": "infty",
    "×": "times",
    "÷": "div",
    "±": "pm",
    "∓": "mp",
    "·": "cdot",
    "⋅": "cdot",
    "≤": "leq",
    "≥": "geq",
    "≠": "neq",
    "≈": "approx",
    "≡": "equiv",
    "∝": "propto",
    "∂": "partial",
    "∇": "nabla",
    "∈": "in",
    "∉": "notin",
    "⊂": "subset",
    "⊆": "subseteq",
    "∪": "cup",
    "∩": "cap",
    "∀": "forall",
    "∃": "exists",
    "→": "to",
    "⇒": "Rightarrow",
    "⇔": "Leftrightarrow",
    "↔": "leftrightarrow",
    "∑": "sum",
    "∏": "prod",
    "∫": "int",
    "∬": "iint",
    "∭": "iiint",
    "∮": "oint",
    "∯": "oiint",
    "∰": "oiiint",
    "⋃": "bigcup",
    "⋂": "bigcap",
    "⋀": "bigwedge",
    "⋁": "bigvee",
    "∧": "wedge",
    "∨": "vee",
    "¬": "neg",
    "√": "surd",
    "…": "dots",
    "⋯": "cdots",
}
# Names that LaTeX sets upright as operators.
FUNCTIONS = frozenset(
    [
        "sin",
        "cos",
        "tan",
        "cot",
        "sec",
        "csc",
        "sinh",
        "cosh",
        "tanh",
        "arcsin",
        "arccos",
        "arctan",
        "log",
        "ln",
        "exp",
        "lim",
        "max",
        "min",
        "sup",
        "inf",
        "det",
        "gcd",
        "arg",
        "dim",
        "ker",
        "deg",
        "Pr",
    ]
)
# Combining marks of m:acc.
# Of the block Mathematical Alphanumeric Symbols.
FIRST_MATHEMATICAL = 0x1D400
ACCENTS = {
    "\u0302": "hat",
    "\u0303": "tilde",
    "\u0304": "bar",
    "\u0305": "bar",
    "\u20d7": "vec",
    "\u0307": "dot",
    "\u0308": "ddot",
    "\u030c": "check",
}
BRACES = {"⏞": "overbrace", "⏟": "underbrace", "¯": "overline"}
# Elements that hold no text (ECMA-376 part 1, 22.1), or text that was deleted.
SILENT = frozenset(
    [
        "rPr",
        "ctrlPr",
        "fPr",
        "sSupPr",
        "sSubPr",
        "sSubSupPr",
        "sPrePr",
        "radPr",
        "naryPr",
        "dPr",
        "funcPr",
        "accPr",
        "barPr",
        "mPr",
        "eqArrPr",
        "groupChrPr",
        "limLowPr",
        "limUppPr",
        "boxPr",
        "borderBoxPr",
        "oMathParaPr",
        "del",
        "moveFrom",
    ]
)


def latex(math: trees.Element) -> str:
    """An oMath element as LaTeX, between dollar signs; "" when it is empty."""
    text = " ".join(_inside(math).split())
    return f"${text}$" if text else ""


def _inside(element: trees.Element | None) -> str:
    """All that is in an element, one child after the other."""
    return "".join(_node(child) for child in trees.children(element))


def _node(element: trees.Element) -> str:
    """One element of a formula; what has no pattern of its own is what is in it."""
    name = officeparts.local(element)
    if name in SILENT:
        return ""
    if name == "t":
        return _symbols(element.text or "")
    return PATTERNS.get(name, _inside)(element)


def _symbols(text: str) -> str:
    """Letters of the mathematical alphabets are plain letters; signs are their
    commands.
    """
    plain = "".join(map(_plain_letter, text))
    return "".join(map(_symbol, plain))


def _plain_letter(sign: str) -> str:
    """A letter of the block Mathematical Alphanumeric Symbols (U+1D400) as usual."""
    if ord(sign) < FIRST_MATHEMATICAL:
        return sign
    return unicodedata.normalize("NFKC", sign)


def _symbol(sign: str) -> str:
    """The command of a sign; a letter as it is."""
    command = SYMBOLS.get(sign)
    return sign if command is None else f" \\{command} "


def _argument(element: trees.Element, name: str) -> str:
    """The part of a construct that is called so: its base, its numerator…"""
    return _inside(officeparts.child(element, name)).strip()


def _fraction(element: trees.Element) -> str:
    """f: a fraction, or a binomial, which has no bar."""
    top = _argument(element, "num")
    bottom = _argument(element, "den")
    if officeparts.value(element, "fPr", "type") == "noBar":
        return f"\\genfrac{{}}{{}}{{0pt}}{{}}{{{top}}}{{{bottom}}}"
    return f"\\frac{{{top}}}{{{bottom}}}"


def _scripts(element: trees.Element) -> str:
    """sSup, sSub, sSubSup, sPre: a base with indices."""
    base = _argument(element, "e")
    low = _argument(element, "sub")
    high = _argument(element, "sup")
    if len(base) > 1 and not base.isalnum():
        base = f"{{{base}}}"
    if low:
        base += f"_{{{low}}}"
    if high:
        base += f"^{{{high}}}"
    return base


def _root(element: trees.Element) -> str:
    """rad: a square root, or one with a degree."""
    degree = _argument(element, "deg")
    index = f"[{degree}]" if degree else ""
    radicand = _argument(element, "e")
    return f"\\sqrt{index}{{{radicand}}}"


def _operator(element: trees.Element) -> str:
    """A sum, an integral and the like with its bounds."""
    sign = officeparts.value(element, "naryPr", "chr") or "∫"
    name = f"\\{SYMBOLS[sign]}" if sign in SYMBOLS else sign
    low = _argument(element, "sub")
    high = _argument(element, "sup")
    base = _argument(element, "e")
    return f"{name}_{{{low}}}^{{{high}}}{base}"


def _bracketed(element: trees.Element) -> str:
    """d: parts between brackets, with separators."""
    properties = officeparts.child(element, "dPr")
    left = _bracket(properties, "begChr", "(")
    right = _bracket(properties, "endChr", ")")
    separator = officeparts.value(properties, "sepChr") or "|"
    inside = separator.join(_inside(part) for part in _named(element, "e"))
    return f"\\left{left}{inside}\\right{right}"


def _bracket(properties: trees.Element | None, name: str, usual: str) -> str:
    """The sign of a bracket; one that is there but empty is LaTeX's ".": none."""
    stated = officeparts.child(properties, name)
    sign = usual
    if stated is not None:
        sign = officeparts.attribute(stated, "val") or "."
    return f"\\{sign}" if sign in "{}" else sign


def _named(element: trees.Element, name: str) -> list[trees.Element]:
    """The children of an element that are called so."""
    return [child for child in element if officeparts.local(child) == name]


def _function(element: trees.Element) -> str:
    """func: a function applied to an argument."""
    name = _argument(element, "fName")
    argument = _argument(element, "e")
    if name in FUNCTIONS:
        return f"\\{name}({argument})"
    return f"{name}{{{argument}}}"


def _accent(element: trees.Element) -> str:
    """acc: a mark above a base."""
    sign = officeparts.value(element, "accPr", "chr")
    return _command(ACCENTS.get(sign, "hat"), element)


def _bar(element: trees.Element) -> str:
    """bar: a line above or below a base."""
    above = officeparts.value(element, "barPr", "pos") == "top"
    return _command("overline" if above else "underline", element)


def _brace(element: trees.Element) -> str:
    """groupChr: a brace above or below a base."""
    sign = officeparts.value(element, "groupChrPr", "chr") or "⏟"
    return _command(BRACES.get(sign, "overline"), element)


def _command(name: str, element: trees.Element) -> str:
    """A command with the base of an element as its argument."""
    base = _argument(element, "e")
    return f"\\{name}{{{base}}}"


def _limit(element: trees.Element) -> str:
    """limLow, limUpp: a base with a limit below or above."""
    base = _argument(element, "e")
    limit = _argument(element, "lim")
    if base in FUNCTIONS:
        base = f"\\{base}"
    if officeparts.local(element) == "limLow":
        return f"{base}_{{{limit}}}"
    return f"\\overset{{{limit}}}{{{base}}}"


def _matrix(element: trees.Element) -> str:
    """m: a matrix."""
    rows = [_matrix_row(row) for row in _named(element, "mr")]
    return _lines(rows)


def _matrix_row(row: trees.Element) -> str:
    """mr: a row of a matrix, its cells aligned."""
    return " & ".join(_inside(cell) for cell in _named(row, "e"))


def _equation_array(element: trees.Element) -> str:
    """eqArr: equations below each other."""
    equations = [_inside(equation) for equation in _named(element, "e")]
    return _lines(equations)


def _lines(rows: list[str]) -> str:
    """Rows in LaTeX's environment of a matrix."""
    return "\\begin{matrix}" + " \\\\ ".join(rows) + "\\end{matrix}"


# The constructs of OMML (ECMA-376 part 1, 22.1.2).
PATTERNS: Mapping[str, Callable[[trees.Element], str]] = {
    "f": _fraction,
    "sSup": _scripts,
    "sSub": _scripts,
    "sSubSup": _scripts,
    "sPre": _scripts,
    "rad": _root,
    "nary": _operator,
    "d": _bracketed,
    "func": _function,
    "acc": _accent,
    "bar": _bar,
    "groupChr": _brace,
    "limLow": _limit,
    "limUpp": _limit,
    "m": _matrix,
    "eqArr": _equation_array,
}
