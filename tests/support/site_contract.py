"""What a Spark is, wherever its tasks run: for threads of its own, and for pods. A subclass has the fixture `spark`."""

from __future__ import annotations

import far_spark
from sparked import Sparked


class Contract:
    """Its subclasses are found by pytest."""

    def test_each_place_has_a_python_worker_of_its_own(self, spark: Sparked) -> None:
        tasks = spark.ask(far_spark.tasks)
        assert tasks >= 1
        assert len({one.process for one in spark.ask(far_spark.places)}) == tasks

    def test_python_workers_have_so_much_memory_and_no_more(self, spark: Sparked) -> None:
        (memory,) = {one.memory for one in spark.ask(far_spark.places)}
        assert 0 < memory < 1 << 50

    def test_it_has_executors_or_is_alone(self, spark: Sparked) -> None:
        assert spark.ask(far_spark.executors) in (None, 1)

    def test_to_have_one_executor_is_no_change(self, spark: Sparked) -> None:
        before = spark.ask(far_spark.tasks)
        spark.ask(far_spark.one)
        assert spark.ask(far_spark.tasks) == before
