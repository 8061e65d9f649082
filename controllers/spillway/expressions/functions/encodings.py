"""Text and bytes in other clothes: code points, base64, hexadecimal, URLs, checksums."""

from __future__ import annotations

import base64 as _base64
import binascii
import hashlib
import string
import urllib.parse

from spillway.expressions import errors
from spillway.expressions.functions.signature import Function, Signature, of

FUNCTIONS: list[Function] = []

_BASE64 = frozenset(string.ascii_letters + string.digits + "+/")
_LINE = 76  # characters: the limit of MIME, Spark's default
_HEX = frozenset(string.hexdigits)
_SHA2 = {0: hashlib.sha256, 224: hashlib.sha224, 256: hashlib.sha256, 384: hashlib.sha384, 512: hashlib.sha512}


def _bytes(result: str, python: str) -> tuple[Signature, Signature]:
    """For a binary, and for a text, which stands for its bytes in UTF-8."""
    return of("bytes binary", result, python), of("text string", result, python.replace("{0}", "{0}.encode()"))


FUNCTIONS.append(
    Function(
        "ascii",
        (of("text string", "int", "(ord({0}[0]) if {0} else 0)"),),
        "The code point of the first character, 0 for an empty text.",
        (("ascii('Spark')", "83"), ("ascii('')", "0")),
    )
)


def character(code: int) -> str:
    """The character with the lowest eight bits of the code; empty for a negative one."""
    return chr(code & 0xFF) if code >= 0 else ""


FUNCTIONS.append(
    Function(
        "chr",
        (of("code bigint", "string", "encodings.character({0})"),),
        "The character (Latin-1) of the lowest eight bits; empty for a negative number.",
        (("chr(65)", "'A'"), ("chr(256 + 65)", "'A'")),
        ("char",),
    )
)
FUNCTIONS.append(
    Function(
        "base64",
        _bytes("string", "encodings.base64({0})"),
        "The bytes in base64, in lines of 76 characters that end with \\r\\n, as in MIME.",
        (("base64('Spark SQL')", "'U3BhcmsgU1FM'"),),
    )
)


def base64(data: bytes) -> str:
    """Base64 in lines of 76 characters."""
    text = _base64.b64encode(data).decode()
    return "\r\n".join(text[at : at + _LINE] for at in range(0, len(text), _LINE))


def unbase64(text: str) -> bytes:
    """As Java's MIME decoder: foreign characters are skipped, padding has to be right where it is there."""
    head, padding, tail = text.partition("=")
    letters = "".join(letter for letter in head if letter in _BASE64)
    over = len(letters) % 4
    wrong = over == 1 or (padding and over == 0) or (padding and over == 2 and not tail.startswith("="))
    if wrong or any(letter in _BASE64 for letter in tail):
        message = f"unbase64: {text[:40]!r} is not base64"
        raise errors.EvaluationError(message)
    return binascii.a2b_base64(letters + "=" * (-len(letters) % 4))


FUNCTIONS.append(
    Function(
        "unbase64",
        (of("text string", "binary", "encodings.unbase64({0})"),),
        "The bytes of a text in base64; characters that base64 doesn't have are skipped; an error where it is cut off"
        " or wrongly padded.",
        (("unbase64('U3Bhcms=')", "X'537061726B'"),),
    )
)


def unhex(text: str) -> bytes | None:
    """The bytes; None where a character is no hexadecimal digit."""
    if not _HEX.issuperset(text):
        return None
    return bytes.fromhex(text if len(text) % 2 == 0 else "0" + text)


FUNCTIONS.append(
    Function(
        "hex",
        (
            of("number bigint", "string", "format({0} & 0xFFFFFFFFFFFFFFFF, 'X')"),
            *_bytes("string", "{0}.hex().upper()"),
        ),
        "Hexadecimal digits in upper case, of a number (two's complement in 64 bits) or of bytes.",
        (("hex(255)", "'FF'"), ("hex(-1)", "'FFFFFFFFFFFFFFFF'"), ("hex('Spark')", "'537061726B'")),
    )
)
FUNCTIONS.append(
    Function(
        "unhex",
        (of("text string", "binary", "encodings.unhex({0})", nullable=True),),
        "The bytes of hexadecimal digits, with a zero before an odd number of them; null where there is another"
        " character.",
        (("unhex('537061726B')", "X'537061726B'"), ("unhex('xyz')", "CAST(NULL AS binary)")),
    )
)
FUNCTIONS.append(
    Function(
        "bin",
        (of("number bigint", "string", "format({0} & 0xFFFFFFFFFFFFFFFF, 'b')"),),
        "The binary digits of a number, two's complement in 64 bits.",
        (("bin(13)", "'1101'"),),
    )
)


def url_encode(text: str) -> str:
    """As HTML forms: a space becomes +."""
    return urllib.parse.quote_plus(text, safe="*").replace("~", "%7E")


FUNCTIONS.append(
    Function(
        "url_encode",
        (of("text string", "string", "encodings.url_encode({0})"),),
        "The text as HTML forms send it: a space as `+`, other characters than letters, digits, `.-*_` as `%xx`.",
        (("url_encode('a b&c')", "'a+b%26c'"),),
    )
)


def md5(data: bytes) -> str:
    """MD5 in hexadecimal digits."""
    return hashlib.md5(data, usedforsecurity=False).hexdigest()


def sha1(data: bytes) -> str:
    """SHA-1 in hexadecimal digits."""
    return hashlib.sha1(data, usedforsecurity=False).hexdigest()


def sha2(data: bytes, bits: int) -> str | None:
    """SHA-2 in hexadecimal digits; None for a length that it doesn't have."""
    return _SHA2[bits](data).hexdigest() if bits in _SHA2 else None


FUNCTIONS.append(
    Function(
        "md5",
        _bytes("string", "encodings.md5({0})"),
        "The MD5 sum, in hexadecimal digits.",
        (("md5('Spark')", "'8cde774d6f7333752ed72cacddb05126'"),),
    )
)
FUNCTIONS.append(
    Function(
        "sha1",
        _bytes("string", "encodings.sha1({0})"),
        "The SHA-1 sum, in hexadecimal digits.",
        (("sha1('Spark')", "'85f5955f4b27a9a4c2aab6ffe5d7189fc298b92c'"),),
        ("sha",),
    )
)
FUNCTIONS.append(
    Function(
        "sha2",
        (
            of("bytes binary, bits int", "string", "encodings.sha2({0}, {1})", nullable=True),
            of("text string, bits int", "string", "encodings.sha2({0}.encode(), {1})", nullable=True),
        ),
        "The SHA-2 sum of 224, 256 (also 0), 384 or 512 bits, in hexadecimal digits; null for other lengths.",
        (("sha2('Spark', 256)", "'529bc3b07127ecb7e53a4dcf1991d9152c24537d919178022b2c42657f79a26b'"),),
    )
)
FUNCTIONS.append(
    Function(
        "crc32",
        _bytes("bigint", "encodings.binascii.crc32({0})"),
        "The CRC-32 checksum.",
        (("crc32('Spark')", "1557323817L"),),
    )
)
