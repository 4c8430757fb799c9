"""Office's equations (OMML) as LaTeX, the one notation of formulas that people and
models both read in plain text.
"""

import unicodedata

from reverie.ingest.documents import officeparts, trees

SYMBOLS = {
    "α": "alpha", "β": "beta", "γ": "gamma", "δ": "delta", "ε": "epsilon", "ϵ": "epsilon", "ζ": "zeta", "η": "eta",
    "θ": "theta", "ι": "iota", "κ": "kappa", "λ": "lambda", "μ": "mu", "ν": "nu", "ξ": "xi", "π": "pi", "ρ": "rho",
    "σ": "sigma", "τ": "tau", "φ": "phi", "ϕ": "phi", "χ": "chi", "ψ": "psi", "ω": "omega", "Γ": "Gamma",
    "Δ": "Delta", "Θ": "Theta", "Λ": "Lambda", "Ξ": "Xi", "Π": "Pi", "Σ": "Sigma", "Φ": "Phi", "Ψ": "Psi",
    "Ω": "Omega", "∞": "infty", "×": "times", "÷": "div", "±": "pm", "∓": "mp", "·": "cdot", "⋅": "cdot", "≤": "leq",
    "≥": "geq", "≠": "neq", "≈": "approx", "≡": "equiv", "∝": "propto", "∂": "partial", "∇": "nabla", "∈": "in",
    "∉": "notin", "⊂": "subset", "⊆": "subseteq", "∪": "cup", "∩": "cap", "∀": "forall", "∃": "exists", "→": "to",
    "⇒": "Rightarrow", "⇔": "Leftrightarrow", "↔": "leftrightarrow", "∑": "sum", "∏": "prod", "∫": "int",
    "∬": "iint", "∭": "iiint", "∮": "oint", "∯": "oiint", "∰": "oiiint", "⋃": "bigcup", "⋂": "bigcap",
    "⋀": "bigwedge", "⋁": "bigvee", "∧": "wedge", "∨": "vee", "¬": "neg", "√": "surd", "…": "dots", "⋯": "cdots",
}  # fmt: skip
FUNCTIONS = frozenset(
    ["sin", "cos", "tan", "cot", "sec", "csc", "sinh", "cosh", "tanh", "arcsin", "arccos", "arctan", "log", "ln",
     "exp", "lim", "max", "min", "sup", "inf", "det", "gcd", "arg", "dim", "ker", "deg", "Pr"]
)  # fmt: skip
ACCENTS = {"\u0302": "hat", "\u0303": "tilde", "\u0304": "bar", "\u0305": "bar", "\u20d7": "vec", "\u0307": "dot",
           "\u0308": "ddot", "\u030c": "check"}  # fmt: skip
BRACES = {"⏞": "overbrace", "⏟": "underbrace", "¯": "overline"}
PROPERTIES = frozenset(
    ["rPr", "ctrlPr", "fPr", "sSupPr", "sSubPr", "sSubSupPr", "sPrePr", "radPr", "naryPr", "dPr", "funcPr", "accPr",
     "barPr", "mPr", "eqArrPr", "groupChrPr", "limLowPr", "limUppPr", "boxPr", "borderBoxPr", "oMathParaPr"]
)  # fmt: skip


def latex(math: trees.Element) -> str:
    """An oMath element as LaTeX, between dollar signs; "" when it is empty."""
    text = " ".join(_inside(math).split())
    return f"${text}$" if text else ""


def _inside(element: trees.Element | None) -> str:
    return "" if element is None else "".join(_one(child) for child in element)


def _one(element: trees.Element) -> str:
    name = officeparts.local(element)
    if name in PROPERTIES or name in {"del", "moveFrom"}:
        return ""
    if name == "t":
        return _symbols(element.text or "")
    if name in {"m", "eqArr"}:
        return _rows(element, name)
    pattern = PATTERNS.get(name)
    if pattern is not None:
        return pattern(element)
    return _inside(element)


def _symbols(text: str) -> str:
    """Letters of the mathematical alphabets are plain letters; signs are their
    commands.
    """
    plain = "".join(
        unicodedata.normalize("NFKC", sign) if ord(sign) > 0x1D3FF else sign
        for sign in text
    )
    return "".join(
        f" \\{SYMBOLS[sign]} " if sign in SYMBOLS else sign for sign in plain
    )


def _part(element: trees.Element, name: str) -> str:
    return _inside(officeparts.child(element, name)).strip()


def _fraction(element: trees.Element) -> str:
    top, bottom = _part(element, "num"), _part(element, "den")
    if officeparts.value(element, "fPr", "type") == "noBar":
        return f"\\genfrac{{}}{{}}{{0pt}}{{}}{{{top}}}{{{bottom}}}"
    return f"\\frac{{{top}}}{{{bottom}}}"


def _scripts(element: trees.Element) -> str:
    base, low, high = _part(element, "e"), _part(element, "sub"), _part(element, "sup")
    if len(base) > 1 and not base.isalnum():
        base = f"{{{base}}}"
    return base + (f"_{{{low}}}" if low else "") + (f"^{{{high}}}" if high else "")


def _root(element: trees.Element) -> str:
    degree = _part(element, "deg")
    return "\\sqrt" + (f"[{degree}]" if degree else "") + f"{{{_part(element, 'e')}}}"


def _operator(element: trees.Element) -> str:
    sign = officeparts.value(element, "naryPr", "chr") or "∫"
    name = f"\\{SYMBOLS[sign]}" if sign in SYMBOLS else sign
    return f"{name}_{{{_part(element, 'sub')}}}^{{{_part(element, 'sup')}}}{_part(element, 'e')}"


def _bracketed(element: trees.Element) -> str:
    properties = officeparts.child(element, "dPr")
    begin, end = (
        officeparts.child(properties, "begChr"),
        officeparts.child(properties, "endChr"),
    )
    left = "(" if begin is None else officeparts.attribute(begin, "val") or "."
    right = ")" if end is None else officeparts.attribute(end, "val") or "."
    between = officeparts.value(properties, "sepChr") or "|"
    inside = between.join(
        _inside(one) for one in element if officeparts.local(one) == "e"
    )
    left, right = (f"\\{sign}" if sign in "{}" else sign for sign in (left, right))
    return f"\\left{left}{inside}\\right{right}"


def _function(element: trees.Element) -> str:
    name = _part(element, "fName")
    return (
        f"\\{name}({_part(element, 'e')})"
        if name in FUNCTIONS
        else f"{name}{{{_part(element, 'e')}}}"
    )


def _accent(element: trees.Element) -> str:
    sign = officeparts.value(element, "accPr", "chr")
    return f"\\{ACCENTS.get(sign, 'hat')}{{{_part(element, 'e')}}}"


def _bar(element: trees.Element) -> str:
    above = officeparts.value(element, "barPr", "pos") == "top"
    return f"\\{'overline' if above else 'underline'}{{{_part(element, 'e')}}}"


def _group(element: trees.Element) -> str:
    sign = officeparts.value(element, "groupChrPr", "chr") or "⏟"
    return f"\\{BRACES.get(sign, 'overline')}{{{_part(element, 'e')}}}"


def _limit(element: trees.Element) -> str:
    base, limit = _part(element, "e"), _part(element, "lim")
    base = f"\\{base}" if base in FUNCTIONS else base
    if officeparts.local(element) == "limLow":
        return f"{base}_{{{limit}}}"
    return f"\\overset{{{limit}}}{{{base}}}"


def _rows(element: trees.Element, name: str) -> str:
    if name == "eqArr":
        rows = [_inside(one) for one in element if officeparts.local(one) == "e"]
    else:
        rows = [
            " & ".join(_inside(cell) for cell in one if officeparts.local(cell) == "e")
            for one in element
            if officeparts.local(one) == "mr"
        ]
    return "\\begin{matrix}" + " \\\\ ".join(rows) + "\\end{matrix}"


PATTERNS = {
    "f": _fraction, "sSup": _scripts, "sSub": _scripts, "sSubSup": _scripts, "sPre": _scripts, "rad": _root,
    "nary": _operator, "d": _bracketed, "func": _function, "acc": _accent, "bar": _bar, "groupChr": _group,
    "limLow": _limit, "limUpp": _limit,
}  # fmt: skip
