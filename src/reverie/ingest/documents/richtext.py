"""LZFu, the compression of rich text in Outlook messages ([MS-OXRTFCP]).

After a head of 16 bytes come runs of eight tokens, each run after a byte of flags. A
token is a byte as it is, or a reference of two bytes to what stands in a ring buffer of
4,096 bytes: 12 bits of where and 4 bits of how many bytes, less two. The buffer starts
out with what most messages begin with.
"""

import struct

from reverie import errors

# The bytes that references reach back, and with what they are filled at first.
WINDOW = 4096
FILLED = (
    rb"{\rtf1\ansi\mac\deff0\deftab720{\fonttbl;}{\f0\fnil \froman \fswiss \fmodern \fscript \fdecor MS Sans Serif"
    rb"SymbolArialTimes New RomanCourier{\colortbl\red0\green0\blue0"
    b"\r\n"
    rb"\par \pard\plain\f0\fs20\b\i\u\tab\tx"
)
# The size after this field, the size unpacked, the kind, a checksum.
HEAD = struct.Struct("<IIII")
# Kinds: "MELA" is as it is, "LZFu" compressed.
AS_IT_IS = 0x414C454D
COMPRESSED = 0x75465A4C
# Bytes of a message's text; set by hand.
LARGEST = 64 * 1024 * 1024


def unpacked(data: bytes) -> bytes:
    """The rich text. Unreadable when it is of no known kind or unpacks to more than it
    may.
    """
    if len(data) < HEAD.size:
        raise errors.Unreadable("the message's text is cut short")
    _, size, kind, _ = HEAD.unpack_from(data)
    if kind == AS_IT_IS:
        return data[HEAD.size : HEAD.size + size]
    if kind != COMPRESSED:
        raise errors.Unreadable("the message's text is compressed in an unknown way")
    if size > LARGEST:
        raise errors.Unreadable(
            f"its text unpacks to more than {LARGEST // 1024 // 1024} MB"
        )
    return _decompressed(data, size)


class _Output:
    """The bytes so far, and the window of the last of them that references reach."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.write = len(FILLED)
        self._window = bytearray(FILLED) + bytearray(WINDOW - len(FILLED))

    def add(self, byte: int) -> None:
        """Add one byte."""
        self.data.append(byte)
        self._window[self.write] = byte
        self.write = (self.write + 1) % WINDOW

    def repeat(self, start: int, length: int) -> None:
        """Add bytes of the window; they may reach into what is added now."""
        window = self._window
        write = self.write
        for offset in range(start, start + length):
            byte = window[offset % WINDOW]
            self.data.append(byte)
            window[write] = byte
            write = (write + 1) % WINDOW
        self.write = write


def _decompressed(data: bytes, size: int) -> bytes:
    """Each byte of flags says of the next eight tokens which are references (two bytes:
    12 bits of where, 4 bits of how long) and which are bytes as they are. A reference
    to the place of writing ends it.
    """
    output = _Output()
    at = HEAD.size
    while at < len(data) and len(output.data) < size:
        flags = data[at]
        at += 1
        for bit in range(8):
            if at >= len(data):
                break
            if not flags >> bit & 1:
                output.add(data[at])
                at += 1
                continue
            reference = int.from_bytes(data[at : at + 2], "big")
            start = reference >> 4
            if at + 1 >= len(data) or start == output.write:
                return bytes(output.data[:size])
            output.repeat(start, (reference & 0xF) + 2)
            at += 2
    return bytes(output.data[:size])
