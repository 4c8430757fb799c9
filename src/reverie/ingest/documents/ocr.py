"""The words in a picture: found, turned upright, and read by a model that ships in a
wheel.
"""

import contextlib
import ctypes
import functools
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, cast

import numpy as np
import rapidocr
from numpy.typing import NDArray
from PIL import Image

from reverie.ingest.documents import layout

Pixels = NDArray[np.uint8]
Boxes = NDArray[np.float32]
"""One row a box: its corners from the top left on, clockwise."""

SURE = 0.5
# The longer side of the picture in which lines are looked for; they are read in the
# picture as it was given.
LOOK = 1216
MOST_PIXELS = 8_000_000
SAMPLES = 4
MMAP_THRESHOLD, MEGABYTE = -3, 1 << 20  # mallopt's name for it


@dataclass(frozen=True, slots=True)
class _Read:
    text: str
    sure: float


@functools.cache
def engine() -> Any:
    """One for the process: it takes a second and 100 MB. Measured: a second thread
    costs CPU and saves no time.
    """
    with contextlib.suppress(OSError, AttributeError):  # not glibc
        # Freed tensors would stay with the process, since glibc raises this threshold:
        # 590 MB a page instead of 400.
        ctypes.CDLL(None).mallopt(MMAP_THRESHOLD, MEGABYTE)
    return rapidocr.RapidOCR(
        params={
            "Global.use_cls": False,
            "Global.log_level": "critical",
            "Det.limit_type": "max",
            "Det.limit_side_len": LOOK,
            "Rec.rec_batch_num": 1,  # lines of unequal length are padded in a batch
            "EngineConfig.onnxruntime.intra_op_num_threads": 1,
            "EngineConfig.onnxruntime.inter_op_num_threads": 1,
        }
    )


def text(picture: Image.Image | Pixels) -> list[str]:
    """The paragraphs in a picture, in reading order, whichever way it was turned; none
    if there are no words.
    """
    pixels = _pixels(picture)
    boxes = _find(pixels)
    if not len(boxes):
        return []
    pixels, boxes = _upright(pixels, boxes)
    pieces = _pieces(boxes, _read_all(pixels, boxes))
    lines = layout.in_order(pieces)
    known = layout.compounds(lines)
    return [layout.text_of(group, known) for group in layout.paragraphs(lines)]


def flat(image: Image.Image) -> Image.Image:
    """In 8-bit colours on white; Pillow alone would cut 16 bits off instead of dividing
    them.
    """
    if image.mode.startswith("I") or image.mode == "F":
        levels = np.asarray(image.convert("F"))
        low, high = float(levels.min()), float(levels.max())
        return Image.fromarray(
            ((levels - low) * (255 / max(high - low, 1.0))).astype(np.uint8)
        ).convert("RGB")
    if image.mode in ("RGBA", "LA", "PA", "La", "RGBa") or "transparency" in image.info:
        image = image.convert("RGBA")
        image = Image.alpha_composite(Image.new("RGBA", image.size, "white"), image)
    return image.convert("RGB")


def _pixels(picture: Image.Image | Pixels) -> Pixels:
    """Blue, green, red, as the models were taught."""
    image = picture if isinstance(picture, Image.Image) else Image.fromarray(picture)
    scale = (MOST_PIXELS / max(image.width * image.height, 1)) ** 0.5
    image = flat(image)
    if scale < 1:
        image = image.resize(
            (max(int(image.width * scale), 1), max(int(image.height * scale), 1))
        )
    return np.ascontiguousarray(np.asarray(image)[:, :, ::-1])


def _find(pixels: Pixels) -> Boxes:
    if min(pixels.shape[:2]) < 8 or int(pixels.max()) - int(pixels.min()) < 16:
        return np.empty((0, 4, 2), np.float32)
    found = engine()(pixels, use_det=True, use_cls=False, use_rec=False).boxes
    return (
        np.empty((0, 4, 2), np.float32)
        if found is None
        else np.asarray(found, np.float32)
    )


def _size(boxes: Boxes) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Width and height of each box, along its own sides."""
    width = np.linalg.norm(boxes[:, 1] - boxes[:, 0], axis=1)
    height = np.linalg.norm(boxes[:, 3] - boxes[:, 0], axis=1)
    return np.maximum(width, 1), np.maximum(height, 1)


def _upright(pixels: Pixels, boxes: Boxes) -> tuple[Pixels, Boxes]:
    """Lines are long, which tells a page on its side; upside down reads badly."""
    width, height = _size(boxes)
    if np.sum(height[height > 1.5 * width]) > np.sum(width[width > 1.5 * height]):
        pixels, boxes = _turn(pixels, boxes)
        width, height = _size(boxes)
    # Long lines tell most, but the longest take the longest to read.
    best = [int(each) for each in np.argsort(np.abs(width / height - 12))[:SAMPLES]]
    crops = _crops(pixels, boxes[best])
    here = sum(each.sure * len(each.text) ** 0.5 for each in _recognise(crops))
    there = sum(
        each.sure * len(each.text) ** 0.5
        for each in _recognise([np.rot90(crop, 2) for crop in crops])
    )
    if there > 1.05 * here:
        pixels, boxes = _turn(*_turn(pixels, boxes))
    return pixels, boxes


def _turn(pixels: Pixels, boxes: Boxes) -> tuple[Pixels, Boxes]:
    """A quarter of a turn, against the clock."""
    width = pixels.shape[1]
    turned = np.stack([boxes[:, :, 1], width - 1 - boxes[:, :, 0]], axis=2)
    return np.ascontiguousarray(np.rot90(pixels)), np.roll(turned, -1, axis=1)


def _crops(pixels: Pixels, boxes: Boxes) -> list[Pixels]:
    """Pieces of the picture, each upright along its box."""
    crops = cast("list[Pixels]", engine().crop_text_regions(pixels, boxes))
    width, height = _size(boxes)
    # The engine lays tall pieces on their side; a single letter or digit is tall and
    # stands.
    single = (height >= 1.4 * width) & (height < 1.6 * np.median(height))
    return [
        np.rot90(crop, -1) if alone and crop.shape[1] > crop.shape[0] else crop
        for crop, alone in zip(crops, single, strict=True)
    ]


def _recognise(crops: Sequence[Pixels]) -> list[_Read]:
    read = engine().recognize_txt([np.ascontiguousarray(crop) for crop in crops])
    return [
        _Read(text, float(sure))
        for text, sure in zip(read.txts, read.scores, strict=True)
    ]


def _read_all(pixels: Pixels, boxes: Boxes) -> list[_Read]:
    crops = _crops(pixels, boxes)
    read = _recognise(crops)
    width, height = _size(boxes)
    for number, (wide, high) in enumerate(zip(width, height, strict=True)):
        if (
            high >= 1.5 * wide and read[number].sure < 0.9
        ):  # written downwards, or upwards
            other = _recognise([np.rot90(crops[number], 2)])[0]
            read[number] = max(read[number], other, key=lambda each: each.sure)
    return read


def _pieces(boxes: Boxes, read: Sequence[_Read]) -> list[layout.LayoutLine]:
    """Pieces of lines with their boxes, as if the page had been laid straight."""
    angle = _skew(boxes)
    turn = np.array(
        [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]], np.float32
    )
    straight = boxes @ turn
    _, height = _size(boxes)
    pieces: list[layout.LayoutLine] = []
    for box, high, each in zip(straight, height, read, strict=True):
        if each.sure < SURE or not each.text.strip():
            continue
        left, top = (float(side) for side in box.min(axis=0))
        right, bottom = (float(side) for side in box.max(axis=0))
        # A found box is larger than the type, by about its own edge.
        pieces.append(
            layout.LayoutLine(
                each.text.strip(), left, top, right, bottom, 0.8 * float(high)
            )
        )
    return pieces


def _skew(boxes: Boxes) -> float:
    """How far the lines are from level, in radians."""
    width, height = _size(boxes)
    long = boxes[width > 4 * height]
    if not len(long):
        return 0.0
    along = long[:, 1] - long[:, 0]
    return float(median(np.arctan2(along[:, 1], along[:, 0]).tolist()))
