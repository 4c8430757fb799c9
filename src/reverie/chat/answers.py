"""A cited answer: what was found, in a model's sentences where one may be asked, and
quoted where none may.
"""

import re
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from importlib import resources

from reverie import config, db, errors
from reverie.access import callers
from reverie.llm import chat, embedding
from reverie.privacy import sensitivity
from reverie.search import query as queries
from reverie.search import results, search

_LONGEST = 900
_CITED = re.compile(r"\[(\d{1,2})\]")
_TOKENS = 400


@dataclass(frozen=True, slots=True)
class CitedSource:
    """A passage that an answer may cite by its number."""

    number: int
    hit: results.Hit
    passage: results.FoundPassage

    @property
    def told(self) -> str:
        """What it is and where in it."""
        where = self.hit.where(self.passage)
        return f"{self.hit.source}, {where}" if where else self.hit.source

    @property
    def level(self) -> sensitivity.Level:
        return sensitivity.named(self.hit.sensitivity)


@dataclass(frozen=True, slots=True)
class CitedAnswer:
    """An answer and its sources. Without a model's text, `told` says why, and the
    sources speak for themselves.

    `cited` are the numbers that the text names and that exist; `kept` is how many
    sources were too private to send.
    """

    found: results.Results
    sources: tuple[CitedSource, ...]
    text: str = ""
    cited: tuple[int, ...] = ()
    kept: int = 0
    model: str = ""
    toy: bool = False
    action: str = ""
    told: str = ""


async def answer(
    database: db.Database,
    caller: callers.Caller,
    embeddings: embedding.Embeddings,
    models: chat.Models,
    question: str,
    *,
    settings: config.SearchTuning | None = None,
    limit: int = 4,
) -> AsyncGenerator[str | CitedAnswer]:
    """The words of an answer as they come; the last piece is the Answer. Raises what a
    search raises.

    What is too private for the models there are is left out and counted; a model that
    fails leaves the quotations.
    """
    query = queries.Query(text=question, limit=limit, include_cold=True)
    found = await search.search(
        database, caller, embeddings, query, settings=settings or config.SearchTuning()
    )
    sources = tuple(
        CitedSource(number, hit, hit.passages[0])
        for number, hit in enumerate(found.hits, start=1)
        if hit.passages
    )
    if not sources:
        yield CitedAnswer(found, sources)
        return
    told = ""
    open_ones = tuple(one for one in sources if one.level < sensitivity.Level.CRITICAL)
    for given in (
        (sources, open_ones) if 0 < len(open_ones) < len(sources) else (sources,)
    ):
        try:
            async with aclosing(
                models.stream(caller, _asked(question, given))
            ) as pieces:
                async for piece in pieces:
                    yield (
                        piece
                        if isinstance(piece, str)
                        else _whole(found, sources, given, piece)
                    )
            return
        except errors.Confined as confined:
            told = f"{confined.message} {confined.hint}".strip()
        except (errors.Unavailable, errors.Invalid, errors.BudgetSpent) as away:
            told = f"{away.message} {away.hint}".strip()
            break
    yield CitedAnswer(found, sources, told=told)


def _asked(question: str, sources: Sequence[CitedSource]) -> chat.ChatRequest:
    told = (
        resources.files("reverie.chat").joinpath("prompts/answer.md").read_text("utf-8")
    )
    written = "\n\n".join(
        f"[{one.number}] {one.told}\n{one.passage.text[:_LONGEST].strip()}"
        for one in sources
    )
    return chat.ChatRequest(
        messages=(
            chat.Message("system", told),
            chat.Message("user", f"Sources:\n\n{written}\n\nQuestion: {question}"),
        ),
        feature="chat.answer",
        level=sensitivity.highest(one.level for one in sources),
        max_tokens=_TOKENS,
    )


def _whole(
    found: results.Results,
    sources: tuple[CitedSource, ...],
    given: Sequence[CitedSource],
    said: chat.ChatAnswer,
) -> CitedAnswer:
    numbers = {one.number for one in given}
    named = dict.fromkeys(int(number) for number in _CITED.findall(said.text))
    return CitedAnswer(
        found,
        sources,
        said.text.strip(),
        tuple(number for number in named if number in numbers),
        len(sources) - len(given),
        said.model,
        said.toy,
        said.action,
    )
