"""Packed columns: many rows as one row of bytes (big-endian arrays) that numpy reads.

PostgreSQL sends the column of all rows as one value, and numpy reads it at once,
however many there are. A statement whose outer SELECT is `SELECT_PACKED` gives one row:

| column | type | holds of each row, one after another |
|---|---|---|
| `id` | int8 | the passage |
| `record` | int4 | the number of its record (`number`) |
| `ordinal` | int4 | its place in the record |
| `length` | int4 | its words |
| `cosine` | float4 | its calibrated similarity; NaN without a vector |
| `bytes` | int4 | how many bytes its terms take |
| `terms` | bytes | its terms, as `records/postings.py` packs them |
| `flags` | int4 | 1 ends with a question mark, 2 has one, 4 tells a time |
| `speaker` | array | who speaks, an array of text (null in no chat) |

A column of no rows is null.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, LiteralString

import numpy as np
from numpy.typing import NDArray

from reverie.records import postings

Floats = NDArray[np.float32]
Integers = NDArray[np.int64]

# Over rows with the columns that it names, in the order that they come in.
SELECT_PACKED: LiteralString = """
SELECT string_agg(int8send(id), '') AS id, string_agg(int4send(number), '') AS record,
    string_agg(int4send(ordinal), '') AS ordinal, string_agg(int4send(length), '') AS length,
    string_agg(float4send(cosine), '') AS cosine, string_agg(terms, '') AS terms,
    string_agg(int4send(octet_length(terms)), '') AS bytes, array_agg(speaker) AS speaker,
    string_agg(int4send(asks + 2 * has_question + 4 * tells_when), '') AS flags
"""
_INT8, _INT4, _FLOAT4 = ">i8", ">i4", ">f4"
_ASKS, _HAS_QUESTION, _TELLS_WHEN = 1, 2, 4


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns as arrays, an entry (of `tf` a row) for each passage.

    `tf` has the shape (passages, terms): how much each holds of the terms looked for.
    Without a vector `cosine` is 0.
    """

    ids: Integers
    record: Integers
    ordinal: Integers
    tf: Floats
    length: Floats
    cosine: Floats
    has_vector: Floats
    speaker: Sequence[str | None]
    asks: Floats
    has_question: Floats
    tells_when: Floats


def unpacked(row: Mapping[str, Any], keys: Sequence[int]) -> Columns:
    """The columns of a packed row, with the terms of these keys."""
    flags = _numbers(row, "flags", _INT4)
    sizes = _numbers(row, "bytes", _INT4)
    cosine = _numbers(row, "cosine", _FLOAT4).astype(np.float32)
    has_vector = ~np.isnan(cosine)
    return Columns(
        ids=_numbers(row, "id", _INT8).astype(np.int64),
        record=_numbers(row, "record", _INT4).astype(np.int64),
        ordinal=_numbers(row, "ordinal", _INT4).astype(np.int64),
        tf=postings.frequencies(row["terms"] or b"", sizes, keys),
        length=_numbers(row, "length", _INT4).astype(np.float32),
        cosine=np.where(has_vector, cosine, np.float32(0)),
        has_vector=has_vector.astype(np.float32),
        speaker=row["speaker"] or [],
        asks=_flag(flags, _ASKS),
        has_question=_flag(flags, _HAS_QUESTION),
        tells_when=_flag(flags, _TELLS_WHEN),
    )


def _numbers(row: Mapping[str, Any], column: str, dtype: str) -> NDArray[Any]:
    return np.frombuffer(row[column] or b"", dtype)


def _flag(flags: NDArray[Any], bit: int) -> Floats:
    return (flags & bit > 0).astype(np.float32)
