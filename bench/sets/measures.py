"""The measures of a ranking: any@k, share@k, capped share@k, nDCG@10. In per cent,
averaged over questions.
"""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence

KS = (1, 5, 10, 20)


def any_at(k: int, ranking: Sequence[str], gold: Collection[str]) -> float:
    """Whether the first k hold an answer; for k = 1 this is hit@1."""
    return float(any(unit in gold for unit in ranking[:k]))


def share_at(k: int, ranking: Sequence[str], gold: Collection[str]) -> float:
    """How much of the answers the first k hold: recall."""
    return len(set(ranking[:k]).intersection(gold)) / len(gold)


def capped_at(k: int, ranking: Sequence[str], gold: Collection[str]) -> float:
    """The same of what k places can hold at most: for questions with dozens of answers."""
    return len(set(ranking[:k]).intersection(gold)) / min(k, len(gold))


def ndcg_at(k: int, ranking: Sequence[str], gold: Collection[str]) -> float:
    """Discounted gain of the answers among the first k, over the best there can be."""
    gained = sum(
        1 / math.log2(at + 2) for at, unit in enumerate(ranking[:k]) if unit in gold
    )
    return gained / sum(1 / math.log2(at + 2) for at in range(min(k, len(gold))))


def figures(pairs: Iterable[tuple[Sequence[str], Collection[str]]]) -> dict[str, float]:
    """Every measure over rankings and their answers."""
    given = list(pairs)
    if not given:
        return {}
    sums: dict[str, float] = {}
    for ranking, gold in given:
        one = {"ndcg@10": ndcg_at(10, ranking, gold), "empty": float(not ranking)}
        for k in KS:
            one |= {
                f"any@{k}": any_at(k, ranking, gold),
                f"share@{k}": share_at(k, ranking, gold),
            }
            one[f"capped@{k}"] = capped_at(k, ranking, gold)
        for name, value in one.items():
            sums[name] = sums.get(name, 0.0) + value
    return {name: 100 * value / len(given) for name, value in sums.items()}


def worst(
    product: Mapping[str, float], floors: Sequence[Mapping[str, float]]
) -> tuple[float, str]:
    """The measure by which the product loses most (or wins least) to the better of the
    floors, at any k.
    """
    names = [f"{kind}@{k}" for kind in ("any", "share") for k in KS]
    return min(
        (round(product[name] - max(one[name] for one in floors), 2), name)
        for name in names
    )
