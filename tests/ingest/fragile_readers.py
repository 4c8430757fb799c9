"""The readers of the product, but that a file which says so takes its process with it."""

import os
from pathlib import PurePath

from reverie.ingest import detect
from reverie.ingest.sandbox import readers

opened = readers.opened
reader = readers.reader
warm = readers.warm
picture = readers.picture


def find(data: bytes, relative: PurePath) -> detect.Detected:
    if b"end this process" in data:
        os._exit(9)
    return readers.find(data, relative)
