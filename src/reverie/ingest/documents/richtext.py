"""The compression of rich text in Outlook's messages: LZFu, a window of 4,096 bytes
that starts out filled.
"""

import struct

from reverie import errors

WINDOW = 4096
LARGEST = 64 * 1024 * 1024
FILLED = (
    rb"{\rtf1\ansi\mac\deff0\deftab720{\fonttbl;}{\f0\fnil \froman \fswiss \fmodern \fscript \fdecor MS Sans Serif"
    rb"SymbolArialTimes New RomanCourier{\colortbl\red0\green0\blue0"
    b"\r\n"
    rb"\par \pard\plain\f0\fs20\b\i\u\tab\tx"
)
HEAD = struct.Struct("<IIII")  # size after this field, size unpacked, kind, checksum


def unpacked(data: bytes) -> bytes:
    """The rich text. Unreadable when it is of no known kind or unpacks to more than it
    may.
    """
    if len(data) < HEAD.size:
        raise errors.Unreadable("the message's text is cut short")
    _, size, kind, _ = HEAD.unpack_from(data)
    if kind == 0x414C454D:  # "MELA": as it is
        return data[HEAD.size : HEAD.size + size]
    if kind != 0x75465A4C:
        raise errors.Unreadable("the message's text is compressed in an unknown way")
    if size > LARGEST:
        raise errors.Unreadable(
            f"its text unpacks to more than {LARGEST // 1024 // 1024} MB"
        )
    return _decompressed(data, size)


def _decompressed(data: bytes, size: int) -> bytes:
    window = bytearray(FILLED) + bytearray(WINDOW - len(FILLED))
    write, at = len(FILLED), HEAD.size
    out = bytearray()
    while at < len(data) and len(out) < size:
        flags, at = data[at], at + 1
        for bit in range(8):
            if at >= len(data):
                break
            if not flags >> bit & 1:
                piece, at = data[at : at + 1], at + 1
                out += piece
                window[write] = piece[0]
                write = (write + 1) % WINDOW
                continue
            if at + 1 >= len(data):
                return bytes(out[:size])
            pair, at = data[at] << 8 | data[at + 1], at + 2
            start, length = pair >> 4, (pair & 0xF) + 2
            if start == write:
                return bytes(out[:size])
            for step in range(length):
                byte = window[(start + step) % WINDOW]
                out.append(byte)
                window[write] = byte
                write = (write + 1) % WINDOW
    return bytes(out[:size])
