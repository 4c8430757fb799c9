"""Terms that look like names: eponyms, species in Latin, brands, derived words.

`enfermedad de Crohn`, `Escherichia coli`, `Addamel®` and `Ciprofloxacino` have a capital
and are in no dictionary, and name nobody whom a text is about. A name that is in a list
of names stays one, whatever stands beside it.
"""

import re

from reverie.privacy import lists, tokenizer

_SHORTEST_DERIVED = 7
# Stems of international nonproprietary names of medicines.
_MEDICINE = re.compile(
    r"(?:micina|mycin|floxacin[oa]?|cilina|cillin|ciclina|cycline|azole?s?|prazole?s?"
    r"|z?umab|ximab|omab|[ai]tinib|statina?|sartan|olol|dipin[oae]|oxetin[ae]|azepam"
    r"|barbital|caina|caine|ciclovir|navir|tidin[ae]|setron|triptan|gliptina?|profeno?"
    r"|parina?|platino?|rubicin[ae]?|taxel|mustina?|penem|fenaco?|coxib|fosfamid[ae])\Z"
)
# Greek and Latin terms as Spanish writes them, and what it makes of other words.
_SPANISH = re.compile(
    r"(?:log(?:ia|ias|ic[oa]s?)|graf(?:ia|ias|ic[oa]s?)|grama?s?|scop(?:ia|ias|ic[oa]s?)"
    r"|patias?|iatri(?:a|c[oa]s?)|metri(?:a|as|c[oa]s?)|itis|osis|emias?|tomias?"
    r"|plastias?|algias?|penias?|plasias?|trofias?|genesis|lisis|virus|coccus|bacter"
    r"|cion|ciones|sion|siones|mente|idad|idades|ismos?|mientos?|tiv[oa]s?)\Z"
)
_SPECIES = re.compile(r"[a-z]{2,}(?:us|um|is|ae|ii?|ei|ans|ens|ica|oides)")
_FEWEST_OF_SPECIES = 4
_BRAND_SIGN = "®"
_LINKS = ("de", "del", "of")
_MOST_LINKS = 2


def derived(tokenized: tokenizer.TokenizedText, plain: str) -> bool:
    """Whether a folded word ends as names of medicines do, or as Spanish terms, and
    nouns and adverbs made of other words.
    """
    if len(plain) < _SHORTEST_DERIVED:
        return False
    if _ends(_MEDICINE, plain):
        return True
    return tokenized.language in ("", "es") and _ends(_SPANISH, plain)


def is_term(tokenized: tokenizer.TokenizedText, at: int, end: int) -> bool:
    """Whether a run of tokens is a brand, a species or an eponym by what stands beside
    it, and is in no list of names.
    """
    words = tokenized.tokens[at:end]
    if any(_is_listed(token.plain.removesuffix("'s")) for token in words):
        return False
    return (
        _is_brand(tokenized, end)
        or _is_species(tokenized, at, end)
        or is_eponym(tokenized, at, end)
    )


def is_eponym(tokenized: tokenizer.TokenizedText, at: int, end: int) -> bool:
    """Whether a noun that is called after its discoverer stands before a run, or behind
    it: `síndrome de X`, `X's disease`.
    """
    tokens = tokenized.tokens
    following = tokens[end] if end < len(tokens) else None
    if following is not None and following.plain in tokenized.words["eponym_after"]:
        return tokenized.language != "es"
    before = at - 1
    while before > 0 and at - before <= _MOST_LINKS:
        if tokens[before].plain not in _LINKS:
            break
        before -= 1
    return before >= 0 and tokens[before].plain in tokenized.words["eponym_before"]


def _is_listed(plain: str) -> bool:
    parts = [plain, *plain.split("-")]
    return any(lists.given(part) or lists.family(part) for part in parts)


def _is_brand(tokenized: tokenizer.TokenizedText, end: int) -> bool:
    """`Addamel®`, but not the maker whose town or model follows: `Medartis®, Basel`."""
    tokens = tokenized.tokens[end : end + 3]
    if not tokens or tokens[0].text != _BRAND_SIGN:
        return False
    named = [token for token in tokens[1:] if token.text != ","]
    return not named or not named[0].capital


def _is_species(tokenized: tokenizer.TokenizedText, at: int, end: int) -> bool:
    """A word with its capital, before a Latin one without that no dictionary has."""
    if end - at > 1 or end >= len(tokenized.tokens):
        return False
    epithet = tokenized.tokens[end]
    if len(epithet.text) < _FEWEST_OF_SPECIES or tokenized.gap_before(end) != " ":
        return False
    if not _SPECIES.fullmatch(epithet.text):
        return False
    return not lists.english(epithet.plain) and not lists.spanish(epithet.text)


def _ends(ending: re.Pattern[str], plain: str) -> bool:
    """Whether a word ends so, and is not only that ending."""
    match = ending.search(plain)
    return match is not None and match.start() > 1
