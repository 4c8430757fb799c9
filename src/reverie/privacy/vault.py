"""Key of the pseudonyms: a file outside the database; HMAC-SHA-256, AES-GCM, HKDF."""

import base64
import contextlib
import hashlib
import hmac
import os
import re
import secrets
import stat
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers import aead
from cryptography.hazmat.primitives.kdf import hkdf

from reverie import errors

_LABEL = "reverie-pseudonyms-1"
_LINE = re.compile(rf"{_LABEL} ([0-9a-f]{{64}})\n?")
# AES-GCM's nonce, in bytes (NIST SP 800-38D).
_NONCE = 12
# Values are padded to a multiple of so many bytes: their length hardly shows.
_BLOCK = 32
_BACK = "Put it back from a backup. If it is gone for good, forget the pseudonyms: new ones are made."


@dataclass(frozen=True, slots=True)
class Key:
    """The opened key. `id` tells it from others without telling it."""

    path: Path
    id: bytes
    mac: bytes = field(repr=False)
    box: aead.AESGCM = field(repr=False)


def key_file(home: Path) -> Path:
    """Where the key lies."""
    return home / "pseudonym.key"


def open_key(home: Path) -> Key:
    """The key of this home; at first use it is made (0600). Raises KeyLost when the
    file is damaged or open to others.

    Whether it is the key that the pseudonyms were made with, the map knows: see
    pseudonyms.mask.
    """
    path = key_file(home)
    try:
        if not path.exists():
            _make(path)
        mode = stat.S_IMODE(path.stat().st_mode)
        line = path.read_text(encoding="ascii", errors="replace")
    except OSError as error:
        raise errors.KeyLost(
            f"The key {path} cannot be read: {error.strerror}.", hint=_BACK
        ) from None
    if mode & 0o077:
        raise errors.KeyLost(
            f"The key {path} is open to other people.",
            hint=f"Close it: chmod 600 {path}",
        )
    written = _LINE.fullmatch(line)
    if written is None:
        raise errors.KeyLost(f"The key {path} is damaged.", hint=_BACK)
    secret = bytes.fromhex(written[1])
    return Key(
        path,
        _derived(secret, "id", 16),
        _derived(secret, "mac", 32),
        aead.AESGCM(_derived(secret, "box", 32)),
    )


def not_the_one(key: Key) -> errors.KeyLost:
    """The failure when a map was made with another key than the one that is there."""
    return errors.KeyLost(
        f"The key {key.path} is not the one that these pseudonyms were made with.",
        hint=_BACK,
    )


def digest(key: Key, *parts: bytes) -> bytes:
    """A keyed digest of some parts, whose borders count."""
    framed = b"".join(len(part).to_bytes(8, "big") + part for part in parts)
    return hmac.digest(key.mac, framed, hashlib.sha256)


def seal(key: Key, value: str, *, bound_to: bytes) -> bytes:
    """A value, encrypted: opened only with the same key and for the same `bound_to`.
    Its length hardly shows.
    """
    plain = value.encode("utf-8", "surrogatepass") + b"\x80"
    plain += bytes(-len(plain) % _BLOCK)
    nonce = secrets.token_bytes(_NONCE)
    return nonce + key.box.encrypt(nonce, plain, bound_to)


def unseal(key: Key, sealed: bytes, *, bound_to: bytes) -> str:
    """The value again. Raises KeyLost."""
    try:
        plain = key.box.decrypt(sealed[:_NONCE], sealed[_NONCE:], bound_to)
    except (InvalidTag, ValueError):
        raise not_the_one(key) from None
    return plain.rstrip(b"\x00")[:-1].decode("utf-8", "surrogatepass")


def letters(data: bytes) -> str:
    """Bytes in Crockford's base 32."""
    return base64.b32encode(data).decode("ascii").rstrip("=").translate(_CROCKFORD)


_CROCKFORD = str.maketrans(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
)


def _derived(secret: bytes, purpose: str, length: int) -> bytes:
    info = f"{_LABEL} {purpose}".encode()
    return hkdf.HKDF(
        algorithm=hashes.SHA256(), length=length, salt=None, info=info
    ).derive(secret)


def _make(path: Path) -> None:
    """Write a new key whole or not at all; of two processes at once, one's is kept."""
    descriptor, half = tempfile.mkstemp(
        dir=path.parent
    )  # 0600, and of this process alone
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(f"{_LABEL} {secrets.token_hex(32)}\n")
            file.flush()
            os.fsync(file.fileno())
        with contextlib.suppress(FileExistsError):
            os.link(half, path)  # refuses to replace, unlike a rename
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    finally:
        Path(half).unlink(missing_ok=True)
