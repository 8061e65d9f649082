"""Keys as bytes: bytes that never change, because topics hold them."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from spillway.model import types
from spillway.runtime import keys

# What a changelog of an older version holds, this one has to find again.
GOLDEN: dict[str, tuple[tuple[Any, ...], str]] = {
    "no columns": ((), "90"),
    "null": ((None,), "91c0"),
    "booleans": ((False, True), "92c2c3"),
    "small numbers": ((0, 127, -1, -32), "94007fffe0"),
    "the ends of bigint": ((-(2**63), 2**63 - 1), "92d38000000000000000cf7fffffffffffffff"),
    "a timestamp": ((1_700_000_000_000_000,), "91cf00060a24181e4000"),
    "before 1970": ((-1_000_001,), "91d2fff0bdbf"),
    "texts": (("", "ad-7", "ß"), "93a0a461642d37a2c39f"),
    "binary": ((b"", b"\x00\xff"), "92c400c40200ff"),
    "decimals": ((Decimal("1.00"), Decimal("-12.50"), Decimal("0.00")), "93d40131c70501" + b"-12.5".hex() + "d40130"),
}


@pytest.mark.parametrize(("key", "expected"), GOLDEN.values(), ids=GOLDEN)
def test_bytes_are_what_they_always_were(key: tuple[Any, ...], expected: str) -> None:
    assert keys.encode(key).hex() == expected


def test_a_decimal_is_its_value_not_its_digits() -> None:
    same = [Decimal("1"), Decimal("1.0"), Decimal("1.00"), Decimal("10").scaleb(-1), Decimal("1E0")]

    assert len({keys.encode((value,)) for value in same}) == 1
    assert keys.encode((Decimal("-0.0"),)) == keys.encode((Decimal("0"),))
    assert keys.encode((Decimal("100"),)) == keys.encode((Decimal("1E2"),))
    assert keys.encode((Decimal("100"),)) != keys.encode((Decimal("1"),))


def test_a_decoded_decimal_has_the_digits_of_its_column() -> None:
    decode = keys.decoder([types.decimal(38, 4), types.decimal(10, 0)])

    key = decode(keys.encode((Decimal("1.5"), None)))

    assert [str(value) for value in key] == ["1.5000", "None"]


def test_all_digits_of_the_widest_decimal_count() -> None:
    one, other = Decimal("9" * 38), Decimal("9" * 37 + "8")

    assert keys.encode((one,)) != keys.encode((other,))
    assert keys.decoder([types.decimal(38, 0)])(keys.encode((one,))) == (one,)


def test_what_another_version_wrote_is_refused_rather_than_misread() -> None:
    with pytest.raises(ValueError, match="extension 2"):
        keys.decoder([types.STRING])(bytes.fromhex("91d40231"))


def test_the_partition_of_a_key_is_the_same_on_every_machine() -> None:
    found = [keys.partition(keys.encode((f"campaign-{i}",)), 7) for i in range(8)]

    assert found == [0, 2, 2, 1, 2, 4, 6, 1]
