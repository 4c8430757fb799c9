"""OCR (text recognition) of pictures: lines detected, turned upright, recognised by
RapidOCR's models.

The steps, in `text`:
1. the picture in colours on white, of bounded size (`_pixels`);
2. text detection finds a box for each line or piece of one (`_find`);
3. a page on its side or upside down is turned (`_upright`);
4. text recognition reads each box (`_read_all`);
5. boxes are laid level, rows and columns found, lines joined to paragraphs (`layout`).
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
Lengths = NDArray[np.float32]
"""One for each box, in points of the picture."""

# Thresholds are set by hand where nothing else is said; bench/ocr.py measures pages with
# them, also turned (docs/decisions/0020).
# Of what is recognised less surely nothing is kept.
SURE = 0.5
# The longer side of the picture in which lines are looked for; they are read in the
# picture as it was given.
LOOK = 1216
MOST_PIXELS = 8_000_000
# Modes of Pillow: what those with more than 8 bits a point begin with, and those with a
# channel for what shows through.
LEVEL_MODES = ("I", "F")
ALPHA_MODES = frozenset({"RGBA", "LA", "PA", "La", "RGBa"})
# Smaller or paler pictures hold no words: the shorter side, and the range of levels.
SMALLEST = 8
LEAST_CONTRAST = 16
# Boxes longer in one direction by so much lie or stand for sure.
ELONGATED = 1.5
# Lines that are read both ways to tell upside down, and the best ratio of their sides:
# long lines tell most, but the longest take the longest to read.
SAMPLES = 4
BEST_RATIO = 12
# How much better they read the other way round before a page is turned.
TURNS = 1.05
# A standing line that reads worse is read the other way round too.
READS_WELL = 0.9
# A single letter or digit: its height in widths, and in usual heights of a line.
SINGLE_RATIO = 1.4
SINGLE_HEIGHT = 1.6
# Boxes so much longer than high tell how far the page is from level.
LEVEL_RATIO = 4
# A found box is larger than the type, by about its own edge.
TYPE_SIZE = 0.8
# Of mallopt (malloc.h): M_MMAP_THRESHOLD, and what it is set to.
MMAP_THRESHOLD = -3
MEGABYTE = 1 << 20


@dataclass(frozen=True, slots=True)
class _Read:
    """The text of a line, and how sure the model is of it (0 to 1)."""

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
    return list(layout.paragraph_texts(lines))


def flat(image: Image.Image) -> Image.Image:
    """In 8-bit colours on white; Pillow alone would cut 16 bits off instead of dividing
    them.
    """
    if image.mode.startswith(LEVEL_MODES):
        levels = np.asarray(image.convert("F"))
        return _scaled(levels).convert("RGB")
    if image.mode in ALPHA_MODES or "transparency" in image.info:
        image = image.convert("RGBA")
        paper = Image.new("RGBA", image.size, "white")
        image = Image.alpha_composite(paper, image)
    return image.convert("RGB")


def _scaled(levels: Lengths) -> Image.Image:
    """Levels of any range as 0 to 255."""
    low = float(levels.min())
    high = float(levels.max())
    span = max(high - low, 1.0)
    scaled = (levels - low) * (255 / span)
    return Image.fromarray(scaled.astype(np.uint8))


def _pixels(picture: Image.Image | Pixels) -> Pixels:
    """Blue, green, red, as the models were taught."""
    image = picture if isinstance(picture, Image.Image) else Image.fromarray(picture)
    colours = np.asarray(_bounded(flat(image)))
    reversed_colours = colours[:, :, ::-1]
    return np.ascontiguousarray(reversed_colours)


def _bounded(image: Image.Image) -> Image.Image:
    """The picture, made smaller when it has more than `MOST_PIXELS`."""
    pixels = image.width * image.height
    if pixels <= MOST_PIXELS:
        return image
    scale = (MOST_PIXELS / pixels) ** 0.5
    width = max(int(image.width * scale), 1)
    height = max(int(image.height * scale), 1)
    return image.resize((width, height))


def _find(pixels: Pixels) -> Boxes:
    """The boxes of the lines in a picture (text detection)."""
    none = np.empty((0, 4, 2), np.float32)
    height, width = pixels.shape[:2]
    if min(height, width) < SMALLEST or _contrast(pixels) < LEAST_CONTRAST:
        return none
    detected = engine()(pixels, use_det=True, use_cls=False, use_rec=False)
    if detected.boxes is None:
        return none
    return np.asarray(detected.boxes, np.float32)


def _contrast(pixels: Pixels) -> int:
    """The range of levels in a picture that has points at all."""
    brightest = int(pixels.max())
    darkest = int(pixels.min())
    return brightest - darkest


def _size(boxes: Boxes) -> tuple[Lengths, Lengths]:
    """Width and height of each box, along its own sides."""
    top_left = boxes[:, 0]
    top_right = boxes[:, 1]
    bottom_left = boxes[:, 3]
    width = np.linalg.norm(top_right - top_left, axis=1)
    height = np.linalg.norm(bottom_left - top_left, axis=1)
    return np.maximum(width, 1), np.maximum(height, 1)


def _upright(pixels: Pixels, boxes: Boxes) -> tuple[Pixels, Boxes]:
    """Lines are long, which tells a page on its side; upside down reads badly."""
    if _on_its_side(boxes):
        pixels, boxes = _turn(pixels, boxes)
    if _is_upside_down(pixels, boxes):
        pixels, boxes = _turn(pixels, boxes)
        pixels, boxes = _turn(pixels, boxes)
    return pixels, boxes


def _is_upside_down(pixels: Pixels, boxes: Boxes) -> bool:
    """Whether a few lines read better the other way round."""
    width, height = _size(boxes)
    ratio = width / height
    far_from_best = np.abs(ratio - BEST_RATIO)
    samples = np.argsort(far_from_best)[:SAMPLES]
    crops = _crops(pixels, boxes[samples])
    as_it_is = _legibility(crops)
    turned = _legibility([_half_turned(crop) for crop in crops])
    return turned > TURNS * as_it_is


def _half_turned(crop: Pixels) -> Pixels:
    """A crop the other way round."""
    return np.rot90(crop, 2)


def _on_its_side(boxes: Boxes) -> bool:
    """Whether more type stands than lies, by the lengths of the lines."""
    width, height = _size(boxes)
    stands = height > ELONGATED * width
    lies = width > ELONGATED * height
    standing_length = np.sum(height[stands])
    lying_length = np.sum(width[lies])
    return bool(standing_length > lying_length)


def _legibility(crops: Sequence[Pixels]) -> float:
    """How well lines read: how sure the model is, more so of long ones."""
    legibility = 0.0
    for line in _recognise(crops):
        legibility += line.sure * len(line.text) ** 0.5
    return legibility


def _turn(pixels: Pixels, boxes: Boxes) -> tuple[Pixels, Boxes]:
    """A quarter of a turn, against the clock."""
    width = pixels.shape[1]
    across = boxes[:, :, 0]
    down = boxes[:, :, 1]
    from_right = width - 1 - across
    corners = np.stack([down, from_right], axis=2)
    # What was the second corner is the top left one now.
    turned_boxes = np.roll(corners, -1, axis=1)
    turned_pixels = np.ascontiguousarray(np.rot90(pixels))
    return turned_pixels, turned_boxes


def _crops(pixels: Pixels, boxes: Boxes) -> list[Pixels]:
    """Pieces of the picture, each upright along its box."""
    crops = cast("list[Pixels]", engine().crop_text_regions(pixels, boxes))
    width, height = _size(boxes)
    # The engine lays tall pieces on their side; a single letter or digit is tall and
    # stands.
    upright = height >= SINGLE_RATIO * width
    usual_height = np.median(height)
    of_one_line = height < SINGLE_HEIGHT * usual_height
    single = upright & of_one_line
    for index in np.flatnonzero(single):
        crops[index] = _stood_up(crops[index])
    return crops


def _stood_up(crop: Pixels) -> Pixels:
    """A crop that lies on its side, turned back clockwise."""
    height, width = crop.shape[:2]
    if width > height:
        return np.rot90(crop, -1)
    return crop


def _recognise(crops: Sequence[Pixels]) -> list[_Read]:
    """The texts of lines (text recognition)."""
    lines = engine().recognize_txt([np.ascontiguousarray(crop) for crop in crops])
    pairs = zip(lines.txts, lines.scores, strict=True)
    return [_Read(text, float(sure)) for text, sure in pairs]


def _read_all(pixels: Pixels, boxes: Boxes) -> list[_Read]:
    """The text of each box; one that stands and reads badly is read both ways."""
    crops = _crops(pixels, boxes)
    lines = _recognise(crops)
    width, height = _size(boxes)
    standing = height >= ELONGATED * width
    for index, stands in enumerate(standing):
        line = lines[index]
        if stands and line.sure < READS_WELL:
            [other] = _recognise([_half_turned(crops[index])])
            if other.sure > line.sure:
                lines[index] = other
    return lines


def _pieces(boxes: Boxes, lines: Sequence[_Read]) -> list[layout.LayoutLine]:
    """Pieces of lines with their boxes, as if the page had been laid straight."""
    straight = boxes @ _rotation(_skew(boxes))
    _, height = _size(boxes)
    pieces: list[layout.LayoutLine] = []
    for box, high, line in zip(straight, height, lines, strict=True):
        text = line.text.strip()
        if line.sure < SURE or not text:
            continue
        left, top = box.min(axis=0).tolist()
        right, bottom = box.max(axis=0).tolist()
        piece = layout.LayoutLine(
            text=text,
            left=left,
            top=top,
            right=right,
            bottom=bottom,
            size=TYPE_SIZE * float(high),
        )
        pieces.append(piece)
    return pieces


def _rotation(angle: float) -> NDArray[np.float32]:
    """The matrix that turns points given as rows by an angle in radians."""
    cosine = np.cos(angle)
    sine = np.sin(angle)
    return np.array([[cosine, -sine], [sine, cosine]], np.float32)


def _skew(boxes: Boxes) -> float:
    """How far the lines are from level, in radians."""
    width, height = _size(boxes)
    long = boxes[width > LEVEL_RATIO * height]
    if not len(long):
        return 0.0
    top_left = long[:, 0]
    top_right = long[:, 1]
    across, down = (top_right - top_left).T
    angles = np.arctan2(down, across)
    return float(median(angles.tolist()))
