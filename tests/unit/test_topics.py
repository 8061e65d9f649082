"""Topics that others write: who reads them pays for records, and for no frames."""

from __future__ import annotations

from fractions import Fraction

from flows import free
from spillway.controllers.costmodel import bottlenecks, resources
from spillway.controllers.costmodel.capacity import Bound
from spillway.controllers.costmodel.flow import Costs, Flow, Node, Output, Setting, Slot

TOPIC = Node("topic", (), 0, 0, (Output("topic", 1, 5.0, 100, framed=False),))
COSTS = Costs(cpu=0.001, fetch=0.01, emit=0.002, record_size=10)


def test_a_topic_has_nothing_to_do_whatever_it_would_cost_to_send() -> None:
    flow = Flow([TOPIC, Node.operator("read", ["topic"], COSTS)])
    settings = {"topic": Setting(1, 1), "read": Setting(1)}
    topic, read = bottlenecks.detect(flow, settings, {"topic": 500.0}, Slot(network=1e3))

    assert TOPIC.is_topic
    assert topic.utilisation == 0
    assert read.frame_in is None
    assert read.bounds == (Bound.NETWORK_IN,)  # 500 records of 800 bits on 1000 bits per second


def test_a_reader_of_topics_pays_no_fetch() -> None:
    flow = Flow([TOPIC, Node.operator("read", ["topic"], COSTS), free("show", "read")])
    settings = {"topic": Setting(1, 1), "read": Setting(1, 2), "show": Setting(1)}
    works = {work.node.name: work for work in bottlenecks.follow(flow, settings, {"topic": 100})}

    assert works["read"].demand.cpu == 100 * (Fraction(1, 1000) + Fraction(2, 1000) / 2)
    assert resources.minimise(flow, {"topic": 600}).settings["read"].parallelism == 1  # 4 with a fetch for each record


def test_a_reader_of_a_topic_and_of_frames_fetches_the_frames() -> None:
    flow = Flow([TOPIC, free("spout"), Node.operator("both", ["topic", "spout"], COSTS)])
    settings = {"topic": Setting(1, 1), "spout": Setting(1, 10), "both": Setting(1)}
    works = {work.node.name: work for work in bottlenecks.follow(flow, settings, {"topic": 100, "spout": 50})}

    assert works["both"].demand.cpu == 150 * Fraction(1, 1000) + 5 * Fraction(1, 100)


def test_frames_are_raised_only_where_there_are_any() -> None:
    flow = Flow([TOPIC, free("spout"), Node.operator("both", ["topic", "spout"], COSTS)])
    found = resources.minimise(flow, {"topic": 400, "spout": 400})
    loads = bottlenecks.detect(flow, found.settings, {"topic": 400, "spout": 400})

    assert found.settings["both"].parallelism == 1
    assert found.settings["spout"].frame == 21  # 0.01·400/b ≤ 1 - 0.8, and a little to spare
    assert not any(load.bottleneck for load in loads)
