"""Fixtures that more than one room's tests use."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from spark_oracle import Oracle


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """One warm local Spark; put its users into `pytest.mark.xdist_group("spark")`, so that there is only one."""
    import spark_oracle  # only who asks for it pays for importing PySpark

    session = spark_oracle.start()
    yield session
    session.stop()


@pytest.fixture(scope="session")
def oracle(spark: Any) -> Oracle:
    """Spark's answer to expressions, value by value."""
    import spark_oracle

    return spark_oracle.Oracle(spark)
