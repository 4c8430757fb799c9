"""Calibration of any model's similarities, by sentences of our own.

The sentences are in six languages. `calibration_texts.json` holds parallel passages,
questions that some of them answer (`asked` says which), and queries as people type
them.
"""

import importlib.resources
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reverie.providers import base, builtin

# Below this share of the similarities between a question and what does not answer it
# lies the floor. It is where the built-in model's own floor, found on real data, lies
# among these sentences.
_PERCENTILE = 88
# The mean similarity of the built-in model between a question and its answer in one
# language.
_ANSWERS = 0.475
# How much better answers must stand out for the means of languages to be worth their
# while.
_GAIN = 1.05
# A model that does not tell answers from anything else is hardly believed.
_LEAST, _MOST = 0.2, 10.0


@dataclass(frozen=True, slots=True)
class Texts:
    """The sentences: a row a language; `questions[l][i]` is answered by
    `passages[l][passage_of_each[i]]`.
    """

    passages: Sequence[Sequence[str]]
    questions: Sequence[Sequence[str]]
    queries: Sequence[Sequence[str]]
    passage_of_each: Sequence[int]


def texts() -> Texts:
    """The sentences as they ship."""
    file = importlib.resources.files("reverie.providers").joinpath(
        "calibration_texts.json"
    )
    content: Mapping[str, Any] = json.loads(file.read_text("utf-8"))
    rows = [
        list(content[part].values()) for part in ("passages", "questions", "queries")
    ]
    return Texts(rows[0], rows[1], rows[2], content["asked"])


def measured(
    passages: NDArray[np.float32],
    questions: NDArray[np.float32],
    queries: NDArray[np.float32],
    passage_of_each: Sequence[int],
) -> base.Calibration:
    """The calibration out of the vectors of `texts`, each of shape (languages,
    sentences, dimensions).

    The means of languages are those of `queries`, which ask for none of the passages,
    and are kept if answers in the same and in other languages then stand out more.
    """
    plain = _parts(questions, passages, passage_of_each)
    means = base.LanguageMeans(queries.mean(axis=1))
    freed = np.stack([means.without(rows) for rows in questions])
    parts = _parts(freed, passages, passage_of_each)
    if parts.distance > _GAIN * plain.distance:
        return _calibration(parts, means)
    return _calibration(plain, None)


@dataclass(frozen=True, slots=True)
class _Parts:
    """Similarities: of answers in the question's language, of answers in the others,
    and of all that is no answer.
    """

    same: NDArray[np.float32]
    others: NDArray[np.float32]
    unrelated: NDArray[np.float32]

    @property
    def distance(self) -> float:
        """How far answers stand out, in standard deviations: in the same language and
        in others alike.
        """
        return (self._apart(self.same) + self._apart(self.others)) / 2

    def _apart(self, answers: NDArray[np.float32]) -> float:
        scatter = float(np.sqrt((answers.var() + self.unrelated.var()) / 2))
        return float(answers.mean() - self.unrelated.mean()) / max(scatter, 1e-9)


def _parts(
    questions: NDArray[np.float32],
    passages: NDArray[np.float32],
    passage_of_each: Sequence[int],
) -> _Parts:
    every = np.einsum("lqd,mpd->lmqp", questions, passages)
    answers = every[:, :, np.arange(len(passage_of_each)), passage_of_each]
    same = np.eye(len(passages), dtype=bool)
    no_answer = np.ones(every.shape[2:], dtype=bool)
    no_answer[np.arange(len(passage_of_each)), passage_of_each] = False
    return _Parts(
        answers[same].ravel(), answers[~same].ravel(), every[:, :, no_answer].ravel()
    )


def _calibration(parts: _Parts, means: base.LanguageMeans | None) -> base.Calibration:
    floor = float(np.percentile(parts.unrelated, _PERCENTILE))
    above = float(parts.same.mean()) - floor
    scale = (_ANSWERS - builtin.CALIBRATION.floor) / above if above > 0 else _LEAST
    return base.Calibration(
        floor, float(np.clip(scale, _LEAST, _MOST)), float(parts.unrelated.std()), means
    )
