"""Step 1 of profiling: MinLp and the sizes of streams give the ratios that the paper's own experiments began with."""

from __future__ import annotations

from spillway.controllers.profiling import features
from spillway.controllers.profiling.application import Application, Operator

SLICE = 0.3
LINEAR = Application.of([Operator("op1"), *(Operator(f"op{i}", (f"op{i - 1}",)) for i in (2, 3, 4))])
STAR = Application.of(
    [
        Operator("op1"),
        Operator("op2"),
        Operator("op3", ("op1", "op2")),
        Operator("op4", ("op3",)),
        Operator("op5", ("op3",)),
    ]
)
MIDDLE = ("op2", "op3", "op4", "op5")
DIAMOND = Application.of([Operator("op1"), *(Operator(name, ("op1",)) for name in MIDDLE), Operator("op6", MIDDLE)])


def _alike(application: Application, span: float = 0.001) -> dict[str, float]:
    return {operator.name: span for operator in application.operators}


def _sent(application: Application, **other: float) -> dict[str, float]:
    return {operator.name: other.get(operator.name, 100.0) for operator in application.operators}


def test_linear_has_equal_parts_which_its_experiment_scaled_to_2_2_2() -> None:
    found = features.find(LINEAR, _alike(LINEAR), _sent(LINEAR), SLICE)

    assert found.ratio == {"op2": 1, "op3": 1, "op4": 1}
    assert found.degree == {}
    assert found.tasks(LINEAR) == {"op1": 1, "op2": 1, "op3": 1, "op4": 1}


def test_noise_of_some_percent_does_not_change_the_parts_of_linear() -> None:
    spans = {"op1": 0.001, "op2": 0.001, "op3": 0.00097, "op4": 0.00103}

    assert set(features.find(LINEAR, spans, _sent(LINEAR), SLICE).ratio.values()) == {1}


def test_star_has_2_1_1_which_its_experiment_scaled_to_48_24_24() -> None:
    found = features.find(STAR, _alike(STAR), _sent(STAR), SLICE)

    assert found.ratio == {"op3": 2, "op4": 1, "op5": 1}
    assert {name: 24 * part for name, part in found.ratio.items()} == {"op3": 48, "op4": 24, "op5": 24}


def test_rounding_down_would_not_give_the_star_of_the_experiment() -> None:
    loads = features.task_loads(STAR, _alike(STAR), _sent(STAR))
    down = [int(loads[name] / max(loads.values()) / SLICE) for name in ("op3", "op4", "op5")]

    assert down == [3, 1, 1]


def test_diamond_scales_no_operator_more_than_four_times_as_far_as_another() -> None:
    spans = {"op1": 0.0002, "op2": 0.001, "op3": 0.0003, "op4": 0.005, "op5": 0.005, "op6": 0.00005}
    found = features.find(DIAMOND, spans, _sent(DIAMOND), SLICE)

    assert found.ratio == {"op2": 1, "op3": 1, "op4": 4, "op5": 4, "op6": 1}
    assert max(found.ratio.values()) / min(found.ratio.values()) == 4


def test_a_smaller_slice_is_finer() -> None:
    spans = {"op1": 0.0002, "op2": 0.001, "op3": 0.0003, "op4": 0.005, "op5": 0.005, "op6": 0.00005}

    assert features.find(DIAMOND, spans, _sent(DIAMOND), 0.1).ratio["op2"] == 2
    assert features.find(DIAMOND, spans, _sent(DIAMOND), 0.1).ratio["op4"] == 10


def test_a_stream_that_is_twelve_times_larger_weighs_twelve_times_as_much() -> None:
    loads = features.task_loads(LINEAR, _alike(LINEAR), _sent(LINEAR, op3=1200.0))

    assert round(loads["op4"] / loads["op3"], 9) == 12


def test_who_reads_two_streams_has_the_load_of_both() -> None:
    loads = features.task_loads(STAR, _alike(STAR), _sent(STAR, op1=300.0, op2=100.0, op3=400.0))

    assert loads["op3"] == loads["op4"]


def test_an_operator_that_is_not_parallel_has_one_task() -> None:
    one = Application.of([Operator("in"), Operator("one", ("in",), parallel=False), Operator("out", ("one",))])
    found = features.find(one, _alike(one), _sent(one), SLICE)

    assert found.degree == {"one": 1}
    assert found.ratio == {"out": 1}


TOP_TEN = [
    Operator("in"),
    Operator("count", ("in",)),
    Operator("top", ("count",), logic_dependent=True),
    Operator("show", ("top",)),
    Operator("mail", ("show",)),
]


def test_whoever_stands_behind_a_logic_dependent_operator_is_dominated() -> None:
    assert Application.of(TOP_TEN).dominated == {"show", "mail"}


def test_one_way_around_is_enough_not_to_be_dominated() -> None:
    around = [*TOP_TEN[:4], Operator("mail", ("show", "count"))]

    assert Application.of(around).dominated == {"show"}


def test_dominated_operators_begin_with_one_task_where_nothing_limits_the_flow() -> None:
    application = Application.of(TOP_TEN)
    found = features.find(application, _alike(application), _sent(application, top=1.0, show=1.0), SLICE)

    assert found.degree == {"show": 1, "mail": 1}
    assert set(found.ratio) == {"count", "top"}


def test_dominated_operators_get_what_the_narrowest_operator_lets_through() -> None:
    # TotalFlow = 1/(1 ms · 0.5) = 2000 records/s over all streams; show takes half of them, 3 ms each: 3 tasks.
    limited = Application.of(
        [
            Operator("in"),
            Operator("top", ("in",), parallel=False, logic_dependent=True),
            Operator("show", ("top",)),
        ]
    )
    spans = {"in": 0.001, "top": 0.001, "show": 0.003}

    assert features.find(limited, spans, _sent(limited), SLICE).degree == {"top": 1, "show": 3}


def test_no_operator_gets_more_tasks_than_it_can_have() -> None:
    few = Application.of([Operator("in"), Operator("a", ("in",), most=2), Operator("b", ("a",))])
    spans = {"in": 0.001, "a": 0.008, "b": 0.001}

    assert features.find(few, spans, _sent(few), SLICE).tasks(few) == {"in": 1, "a": 2, "b": 1}


def test_operators_that_get_nothing_have_one_task() -> None:
    silent = dict.fromkeys(("op1", "op2", "op3", "op4"), 0.0)

    assert set(features.find(LINEAR, _alike(LINEAR), silent, SLICE).tasks(LINEAR).values()) == {1}
