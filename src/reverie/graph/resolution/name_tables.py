"""Word lists of names: titles, particles, legal forms, numbers."""

import itertools
from collections.abc import Mapping
from functools import lru_cache

from rapidfuzz.distance import OSA


def words(text: str) -> frozenset[str]:
    """The words of a list."""
    return frozenset(text.split())


def _lines(text: str) -> list[list[str]]:
    """The words of each line."""
    return [line.split() for line in text.strip().splitlines()]


TITLES = words("""
    mr mrs ms miss mx dr prof professor doctor sir dame lord lady sheikh shaikh shaykh sheik haji hajji hajj
    president prime minister senator general colonel captain major lieutenant sergeant admiral judge justice
    ambassador king queen prince princess emperor sultan emir imam mullah ayatollah rabbi rev reverend father
    brother sister pope herr frau fraulein praesident prasident kanzler bundeskanzler doktor senor senora senorita
    don dona sr sra srta lic ing presidente presidenta ministro monsieur madame mme mlle maitre signor signora dott
    dottore tov pan pani esq phd md mba hon honourable chairman chancellor secretary governor mayor dipl
""")
DEGREES = words("esq phd md mba msc bsc ma ba jd llm rn pe cpa")
PARTICLES = words("""
    bin ben ibn bint al el ul as ad ud ur abu abou umm von van der den de del della di da dos das do du la le les
    los las y e zu zum zur af av ter ten bar bat mac san st
""")
GENERATIONS: Mapping[str, str] = {
    "jr": "jr", "junior": "jr", "filho": "jr", "hijo": "jr", "sr": "sr", "senior": "sr", "padre": "sr",
    "ii": "2", "iii": "3", "iv": "4", "2nd": "2", "3rd": "3", "4th": "4",
}  # fmt: skip

# A family of forms that are translations of one another, then its members; "-" joins
# the words of one.
_FORMS = _lines("""
private llc l-l-c limited-liability-company limited-liability-co gmbh mbh
private gesellschaft-mit-beschrankter-haftung gesellschaft-mit-beschraenkter-haftung sarl
private societe-a-responsabilite-limitee srl societatea-cu-raspundere-limitata
private societa-a-responsabilita-limitata sl sociedad-limitada slu ooo
private obshchestvo-s-ogranichennoy-otvetstvennostyu obshestvo-s-ogranichennoi-otvetstvennostyu tov sp-z-oo
private spolka-z-ograniczona-odpowiedzialnoscia bv besloten-vennootschap bvba sprl lda limitada ltda kft
private doo sro sia uab ou aps srlu eurl sasu
limited ltd limited private-limited pvt-ltd pte-ltd pty-ltd co-ltd co-limited company-limited pte pvt pty
public ag aktiengesellschaft jsc ojsc pjsc cjsc oao pao zao ao joint-stock-company
public open-joint-stock-company public-joint-stock-company closed-joint-stock-company
public aktsionernoe-obshchestvo otkrytoe-aktsionernoe-obshchestvo publichnoe-aktsionernoe-obshchestvo nv
public naamloze-vennootschap sa s-a sociedad-anonima societe-anonyme spa societa-per-azioni se plc
public public-limited-company ab aktiebolag asa oyj oy as sa-de-cv sab-de-cv sas kk kabushiki-kaisha tbk
public pt as-a
corporation inc incorporated corp corporation company co companies cie
partnership lp llp limited-partnership limited-liability-partnership kg kommanditgesellschaft gmbh-co-kg
partnership gmbh-and-co-kg kgaa ohg gbr lllp
charity ev eingetragener-verein ano nko stiftung foundation-inc asbl
bank na national-association
""")
# Ways to write one form: their difference says nothing.
_EQUAL = _lines("""
limited ltd private-limited pvt-ltd co-ltd co-limited company-limited
incorporated inc
corporation corp
company co
aktiengesellschaft ag
llp limited-liability-partnership
lp limited-partnership
plc public-limited-company
llc l-l-c limited-liability-company ooo obshchestvo-s-ogranichennoy-otvetstvennostyu
jsc joint-stock-company ao aktsionernoe-obshchestvo
ojsc open-joint-stock-company oao otkrytoe-aktsionernoe-obshchestvo
pjsc pao public-joint-stock-company publichnoe-aktsionernoe-obshchestvo
gmbh gesellschaft-mit-beschrankter-haftung gesellschaft-mit-beschraenkter-haftung
srl societatea-cu-raspundere-limitata
na national-association
""")


def _split(form: str) -> tuple[str, ...]:
    return tuple(form.split("-"))


def _families() -> dict[tuple[str, ...], str]:
    """Each legal form, as its words, with its family."""
    families: dict[tuple[str, ...], str] = {}
    for family, *members in _FORMS:
        for member in members:
            families[_split(member)] = family
    return families


def _one_spelling() -> dict[tuple[str, ...], tuple[str, ...]]:
    """Each way to write a legal form with the first of its line."""
    spellings: dict[tuple[str, ...], tuple[str, ...]] = {}
    for line in _EQUAL:
        for member in line:
            spellings[_split(member)] = _split(line[0])
    return spellings


LEGAL_FORMS: Mapping[tuple[str, ...], str] = _families()
LONGEST_FORM = max(map(len, LEGAL_FORMS))
_ONE_FORM: Mapping[tuple[str, ...], tuple[str, ...]] = _one_spelling()
LONG_FORM = 14  # characters, from which on a slip in a legal form can be seen


def _long_forms() -> list[str]:
    """The legal forms that are long, as they are written."""
    written = map(" ".join, LEGAL_FORMS)
    return [form for form in written if len(form) >= LONG_FORM]


_LONG = _long_forms()


def one_form(form: tuple[str, ...]) -> tuple[str, ...]:
    """One of the ways to write a legal form: Limited for Ltd."""
    return _ONE_FORM.get(form, form)


@lru_cache(maxsize=20_000)
def near_form(written: str) -> tuple[str, ...] | None:
    """A long legal form with a slip in it."""
    for form in _LONG:
        if abs(len(form) - len(written)) > 1:
            continue
        if OSA.distance(form, written, score_cutoff=1) <= 1:
            return tuple(form.split())
    return None


IDLE = words("""
    the of and for in a an y und de del des du la le les los las der die das et i on at e
""")
SHORTENED: Mapping[str, str] = {
    "intl": "international", "int": "international", "natl": "national", "govt": "government", "dept": "department",
    "univ": "university", "assn": "association", "assoc": "association", "bros": "brothers", "mfg": "manufacturing",
    "inst": "institute", "tech": "technology", "grp": "group", "gruppe": "group", "mgmt": "management",
    "dev": "development", "labour": "labor", "centre": "center", "org": "organization", "svcs": "services",
    "us": "united states", "usa": "united states", "uk": "united kingdom", "un": "united nations",
    "eu": "european union", "organisation": "organization", "mt": "mount", "st": "saint",
    "fdn": "foundation", "bldg": "building", "hldgs": "holdings", "eng": "engineering",
}  # fmt: skip
VESSELS = words("""
    mv ms mt ss hms uss rms my sy ft
""")


def _numbered(text: str, *, first: int, step: int = 1) -> dict[str, int]:
    """The words of a list with the numbers they stand for."""
    numbers = itertools.count(first, step)
    return dict(zip(text.split(), numbers, strict=False))


_UNITS = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
    seventeen eighteen nineteen"""
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_ORDINALS = (
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth"
)
_ROMANS = "i ii iii iv v vi vii viii ix x xi xii xiii xiv xv xvi xvii xviii xix xx xxi xxii xxiii xxiv xxv"
NUMBERS: Mapping[str, int] = {
    **_numbered(_UNITS, first=0),
    **_numbered(_TENS, first=20, step=10),
    **_numbered(_ORDINALS, first=1),
}
ROMAN: Mapping[str, int] = _numbered(_ROMANS, first=1)
