"""The graph of a job, as its plan has it."""

from __future__ import annotations

import msgspec
import pytest

import recorded_job
from spillway.controllers.protocol import messages
from spillway.runtime.page import topology
from spillway.runtime.page.topology import Node, Topology

DRAWN = topology.of(recorded_job.plan())


def node(found: Topology, name: str) -> Node:
    return next(one for one in found.nodes if one.id == name)


def kinds(found: Topology) -> dict[tuple[str, str], str]:
    return {(edge.source, edge.target): edge.kind for edge in found.edges}


def test_every_part_of_the_job_is_a_node_with_what_it_does() -> None:
    assert {(one.id, one.kind, one.does) for one in DRAWN.nodes} == {
        ("events", "stream", "topic ad-events"),
        ("campaigns", "table", "topic ad-campaigns"),
        ("views", "filter", "event_type = 'view'"),
        ("fields", "select", "ad_id, event_time"),
        ("joined", "join", "inner campaigns by ad_id"),
        ("counts", "aggregate", "count(*) as views by campaign_id, windows of 10s"),
        ("output/result", "output", "topic campaign-views"),
    }


def test_operators_know_their_segment_and_topics_have_none() -> None:
    assert {one.id: one.segment for one in DRAWN.nodes if one.segment} == {
        "views": "views",
        "fields": "views",
        "joined": "views",
        "counts": "counts",
    }


def test_frames_are_on_edges_between_segments_alone() -> None:
    assert kinds(DRAWN) == {
        ("events", "views"): "source",
        ("views", "fields"): "fused",
        ("fields", "joined"): "fused",
        ("campaigns", "joined"): "source",
        ("joined", "counts"): "edge",
        ("counts", "output/result"): "output",
    }


def test_a_stream_that_is_a_segment_of_its_own_sends_frames() -> None:
    plan = recorded_job.plan()
    spout = messages.Segment("events", ("events",), "11", plan.segments[0].paradigm, 8, 1)

    found = topology.of(msgspec.structs.replace(plan, segments=(spout, *plan.segments)))

    assert kinds(found)["events", "views"] == "edge"
    assert node(found, "events").segment == "events"


def test_it_flows_from_streams_to_outputs() -> None:
    layers = {one.id: one.layer for one in DRAWN.nodes}

    assert [layers[name] for name in ("events", "views", "fields", "joined", "counts", "output/result")] == [*range(6)]
    assert layers["campaigns"] == layers["fields"]


def test_an_output_with_the_name_of_an_operator_is_another_node() -> None:
    plan = recorded_job.plan()
    spec = plan.spec.replace('"name":"result"', '"name":"counts"')

    found = topology.of(msgspec.structs.replace(plan, spec=spec))

    assert kinds(found)["counts", "output/counts"] == "output"
    assert node(found, "output/counts").name == "counts"


def test_long_expressions_are_cut() -> None:
    plan = recorded_job.plan()
    spec = plan.spec.replace("event_type = 'view'", " or ".join(["event_type = 'view'"] * 40))

    does = node(topology.of(msgspec.structs.replace(plan, spec=spec)), "views").does

    assert len(does) == topology.LONGEST
    assert does.endswith(" …")


@pytest.mark.parametrize("name", ["events", "output/result"])
def test_every_node_has_a_place(name: str) -> None:
    assert node(DRAWN, name).row >= 0
