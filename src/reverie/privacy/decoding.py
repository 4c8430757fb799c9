"""Decoded views of a text: what it says behind escapes, encodings, marks and spellings.

Each view is a part of the text as somebody could read it who decodes it, with offsets
back. Ordinary text has none. Depth and size are bounded, each pass is linear.
"""

import itertools
import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial

from reverie.privacy import (
    encodings,
    escapes,
    folding,
    mapped_text,
    regrouping,
    spelled_out,
)

MappedText = mapped_text.MappedText
_Pass = Callable[[str], Iterable[mapped_text.Edit]]
_Known = dict[tuple[MappedText, _Pass], MappedText]

# Encodings inside of encodings are opened so many times.
_DEPTH = 4
# Longer than what any pattern allows between the parts of a value, and than the reach of
# a cue.
_BETWEEN = " .\n" + "\0" * 64 + "\n. "
_PLAINER: tuple[_Pass, ...] = (escapes.symbols, escapes.lookalikes, escapes.find)
_DECODED: tuple[_Pass, ...] = (*_PLAINER, encodings.find)
_DECODED_AGAIN: tuple[_Pass, ...] = (*_PLAINER, encodings.find_lettered)


def views(text: str, folded: folding.Folded | None = None) -> list[MappedText]:
    """The parts of a text that say something else when decoded; [] of ordinary text.
    `folded` is the text folded, if it is at hand.
    """
    found: list[MappedText] = []
    seen: set[str] = set()
    for view in _views(text, folded or folding.fold(text)):
        if view.text not in seen:
            seen.add(view.text)
            found.append(view)
    return found


def texts(text: str) -> list[str]:
    """The same as texts alone, for what only reads words."""
    return [view.text for view in views(text)]


def together(views: Iterable[MappedText]) -> str:
    """Views as one text, to be looked through at once: no pattern and no sentence
    reaches from one into the next.
    """
    return _BETWEEN.join(view.text for view in views)


def _views(text: str, folded: folding.Folded) -> Iterator[MappedText]:
    base = _folded(text, folded)
    decoded = _opened(base)
    yield from mapped_text.windows(decoded, strict=False)
    bare = _passed(decoded, (regrouping.marks,))
    bare = _opened(bare) if bare is not decoded else bare
    if bare is not decoded:
        yield from mapped_text.windows(bare, strict=False)
    starts = (decoded, bare) if bare is not decoded else (decoded,)
    seen = set(starts)
    known: _Known = {}
    for passes in _STRICT:
        for start in starts:
            regrouped = _regrouped(start, passes, known)
            if regrouped in seen:
                continue
            seen.add(regrouped)
            for window in _windows(regrouped):
                if passes not in _OF_NUMBERS or _MAY_BE_A_VALUE.search(window.text):
                    yield window


_STRICT: tuple[tuple[_Pass, ...], ...] = (
    (spelled_out.find, regrouping.numbers),
    (regrouping.line_starts, regrouping.numbers),
    (regrouping.numbers,),
    (regrouping.letters, regrouping.wide_gaps),
    (regrouping.broken_lines,),
    (regrouping.addresses,),
    (regrouping.addresses, regrouping.broken_lines, regrouping.addresses),
    (regrouping.seams,),
    (regrouping.cue_seams,),
    (regrouping.chunks,),
    (regrouping.underscored_chunks,),
    (regrouping.backwards,),
    (regrouping.like_digits,),
)

# Where the first of these changes nothing, the rest stand in the list by themselves.
_WITH_OTHERS = frozenset(passes for passes in _STRICT if passes[1:] in _STRICT)
# These put digits together and nothing else: a year alone is no value.
_OF_NUMBERS = _STRICT[:3]
_LONG_RUN = 40  # characters; set by hand
_MAY_BE_A_VALUE = re.compile(r"@|\d{5}|\d\D+\d")


def _windows(regrouped: MappedText) -> Iterable[MappedText]:
    """What was put together, opened once more where it may be encoded now."""
    windows = list(mapped_text.windows(regrouped, strict=True))
    if any(map(_is_closed, windows)):
        return mapped_text.windows(_opened(regrouped), strict=True)
    return windows


def _is_closed(window: MappedText) -> bool:
    """Whether a rewritten part says something when decoded, or may do so with what
    stands outside of the window.
    """
    size = len(window.text)
    runs = itertools.chain(escapes.runs(window.text), encodings.runs(window.text))
    rewritten = [run for run in runs if window.is_changed(*run)]
    for start, end in rewritten:
        if end - start > _LONG_RUN or start == 0 or end == size:
            return True
    return bool(rewritten) and _passed(window, _DECODED_AGAIN) is not window


def _regrouped(
    start: MappedText, passes: tuple[_Pass, ...], known: _Known
) -> MappedText:
    """A text after some passes; `known` are the texts after each pass so far."""
    mapped = _rewritten(start, passes[0], known)
    if mapped is start and passes in _WITH_OTHERS:
        return start
    for rewrite in passes[1:]:
        mapped = _rewritten(mapped, rewrite, known)
    return mapped


def _rewritten(mapped: MappedText, rewrite: _Pass, known: _Known) -> MappedText:
    after = known.get((mapped, rewrite))
    if after is None:
        after = mapped_text.substitute(mapped, rewrite(mapped.text))
        known[mapped, rewrite] = after
    return after


def _folded(text: str, folded: folding.Folded) -> MappedText:
    """The text, folded; what cannot be seen in it but read by a model, shown."""
    plain = mapped_text.of(text)
    shown = mapped_text.substitute(plain, escapes.smuggled(text))
    if shown is not plain:
        folded = folding.fold(shown.text)
    if folded.starts is None:
        return MappedText(folded.text, shown.changed, shown.offsets)
    changed = bytes(len(folded.text))
    if shown is not plain:
        changed = bytes(shown.changed[start] for start in folded.starts)
    return MappedText(folded.text, changed, partial(_through, shown, folded))


def _through(shown: MappedText, folded: folding.Folded) -> mapped_text.Offsets:
    """Where the characters of a folded text came from."""
    starts = [shown.starts[start] for start in folded.starts or ()]
    ends = [shown.ends[end - 1] for end in folded.ends or ()]
    return mapped_text.Offsets(starts, ends)


def _opened(mapped: MappedText) -> MappedText:
    """Decoded, and what that says decoded again, a few times."""
    for depth in range(_DEPTH):
        following = _passed(mapped, _DECODED_AGAIN if depth else _DECODED)
        if following is mapped:
            break
        mapped = following
    return mapped


def _passed(mapped: MappedText, passes: Iterable[_Pass]) -> MappedText:
    for rewrite in passes:
        mapped = mapped_text.substitute(mapped, rewrite(mapped.text))
    return mapped
