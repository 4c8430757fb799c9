"""Encrypted office files ([MS-OFFCRYPTO]: docx, xlsx, pptx, doc, xls, ppt) opened with
their password, before anything looks at what is inside.
"""

import io

import msoffcrypto
import msoffcrypto.exceptions

from reverie import errors

OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
LOCKED = "it is encrypted: give its password with --password"
WRONG = "it is encrypted, and the password is wrong"
# Excel encrypts with this one where only changes are to be prevented ([MS-XLS] 2.2.10).
NO_PASSWORD = "VelvetSweatshop"  # noqa: S105 - a constant of the format
_BROKEN = (
    msoffcrypto.exceptions.FileFormatError,
    msoffcrypto.exceptions.ParseError,
    OSError,
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    RecursionError,
    NotImplementedError,
)


def opened(data: bytes, password: str) -> bytes:
    """The file without its encryption; what is not encrypted as it is. Raises Locked
    without the right password.
    """
    if not data.startswith(OLE):
        return data
    try:
        office = msoffcrypto.OfficeFile(io.BytesIO(data))
        if not office.is_encrypted():
            return data
    except _BROKEN:
        return data  # its reader says what is wrong
    for attempt in filter(None, (password, NO_PASSWORD)):
        plain = _decrypted(data, attempt)
        if plain:
            return plain
    raise errors.Locked(WRONG if password else LOCKED)


def _decrypted(data: bytes, password: str) -> bytes:
    """The file opened with a password; b"" when that is the wrong one."""
    plain = io.BytesIO()
    try:
        # A new one each time: a wrong password leaves it half opened.
        office = msoffcrypto.OfficeFile(io.BytesIO(data))
        office.load_key(password=password)
        office.decrypt(plain)
    except (
        msoffcrypto.exceptions.InvalidKeyError,
        msoffcrypto.exceptions.DecryptionError,
    ):
        return b""
    except _BROKEN as error:
        reason = str(error)[:120]
        raise errors.Unreadable(
            f"it is encrypted in a way not known: {reason}"
        ) from error
    return plain.getvalue()
