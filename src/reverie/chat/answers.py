"""Retrieval-augmented answers (RAG): a model's sentences with citations of the hits.

Where no model may be asked, the sources are quoted instead.
"""

import re
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from importlib import resources

from reverie import config, db, errors
from reverie.access import callers
from reverie.llm import chat, embedding
from reverie.privacy import languages, sensitivity
from reverie.search import query as queries
from reverie.search import results, search

_LONGEST_PASSAGE = 900  # characters of a passage that a model gets; set by hand
_CITATION = re.compile(r"\[(\d{1,2})\]")
_MAX_TOKENS = 400  # of an answer; set by hand


@dataclass(frozen=True, slots=True)
class CitedSource:
    """A passage that an answer may cite by its number."""

    number: int
    hit: results.Hit
    passage: results.FoundPassage

    @property
    def label(self) -> str:
        """What it is and where in it."""
        where = self.hit.where(self.passage)
        return f"{self.hit.source}, {where}" if where else self.hit.source

    @property
    def level(self) -> sensitivity.Level:
        return sensitivity.named(self.hit.sensitivity)


@dataclass(frozen=True, slots=True)
class CitedAnswer:
    """An answer and its sources. Without a model's text, `reason` says why, and the
    sources speak for themselves.

    `cited` are the numbers that the text names and that exist; `kept` is how many
    sources were too private to send.
    """

    search_results: results.Results
    sources: tuple[CitedSource, ...]
    text: str = ""
    cited: tuple[int, ...] = ()
    kept: int = 0
    model: str = ""
    toy: bool = False
    action: str = ""
    reason: str = ""


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
    """The words of an answer as they come; the last piece is the CitedAnswer. Raises what a
    search raises.

    What is too private for the models there are is left out and counted; a model that
    fails leaves the quotations.
    """
    query = queries.Query(text=question, limit=limit, include_cold=True)
    hits = await search.search(
        database, caller, embeddings, query, settings=settings or config.SearchTuning()
    )
    sources = tuple(
        CitedSource(number, hit, hit.passages[0])
        for number, hit in enumerate(hits.hits, start=1)
        if hit.passages
    )
    if not sources:
        yield CitedAnswer(hits, sources)
        return
    reason = ""
    for sent in _choices(sources):
        request = _request(question, sent)
        try:
            async with aclosing(models.stream(caller, request)) as pieces:
                async for piece in pieces:
                    if isinstance(piece, str):
                        yield piece
                    else:
                        yield _cited(hits, sources, sent, piece)
            return
        except errors.Confined as confined:
            reason = f"{confined.message} {confined.hint}".strip()
        except (errors.Unavailable, errors.Invalid, errors.BudgetSpent) as failure:
            reason = f"{failure.message} {failure.hint}".strip()
            break
    yield CitedAnswer(hits, sources, reason=reason)


def _choices(sources: tuple[CitedSource, ...]) -> list[tuple[CitedSource, ...]]:
    """Which sources are sent: all of them, or else those that are not critical and in a
    known language.
    """
    less_private = tuple(source for source in sources if _may_leave(source))
    if 0 < len(less_private) < len(sources):
        return [sources, less_private]
    return [sources]


def _may_leave(source: CitedSource) -> bool:
    text = source.passage.text[:_LONGEST_PASSAGE]
    return source.level < sensitivity.Level.CRITICAL and not languages.unknown(text)


def _request(question: str, sources: Sequence[CitedSource]) -> chat.ChatRequest:
    """The prompt: how to answer, the numbered sources, the question."""
    prompt = resources.files("reverie.chat").joinpath("prompts/answer.md")
    quoted = "\n\n".join(
        f"[{source.number}] {source.label}\n"
        f"{source.passage.text[:_LONGEST_PASSAGE].strip()}"
        for source in sources
    )
    return chat.ChatRequest(
        messages=(
            chat.Message("system", prompt.read_text("utf-8")),
            chat.Message("user", f"Sources:\n\n{quoted}\n\nQuestion: {question}"),
        ),
        feature="chat.answer",
        level=sensitivity.highest(source.level for source in sources),
        max_tokens=_MAX_TOKENS,
    )


def _cited(
    hits: results.Results,
    sources: tuple[CitedSource, ...],
    sent: Sequence[CitedSource],
    answer: chat.ChatAnswer,
) -> CitedAnswer:
    """A model's answer with the numbers that it names and that were sent."""
    sent_numbers = {source.number for source in sent}
    named = dict.fromkeys(int(number) for number in _CITATION.findall(answer.text))
    return CitedAnswer(
        hits,
        sources,
        text=answer.text.strip(),
        cited=tuple(number for number in named if number in sent_numbers),
        kept=len(sources) - len(sent),
        model=answer.model,
        toy=answer.toy,
        action=answer.action,
    )
