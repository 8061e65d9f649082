"""What dashboards are put together of: figures, graphs, timelines and sheets that look alike, and their variables.

Queries go by the labels `namespace` and `spillway_dev_job`, the second being the label spillway.dev/job of pods as
Prometheus writes it: monitors put both on what drivers and workers tell. The data source is a variable, nothing names
a cluster, and what is read is what processes tell, not what rules have recorded: dashboards work where the alerts are
not installed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from grafana_foundation_sdk.builders import common, prometheus, stat, statetimeline, table, timeseries
from grafana_foundation_sdk.builders import dashboard as builders
from grafana_foundation_sdk.models import common as looks
from grafana_foundation_sdk.models import dashboard as models
from grafana_foundation_sdk.models import prometheus as queries

SOURCE = models.DataSourceRef(type_val="prometheus", uid="${datasource}")
OF_JOBS = '{namespace=~"$namespace", spillway_dev_job=~"$job"}'
BY_JOB = "by (namespace, spillway_dev_job)"
JOB = "{{namespace}}/{{spillway_dev_job}}"
WHOLE = 24  # columns of a dashboard
# The colours of the page of a job: blue is record by record, orange is in batches; the rest says how things are.
BLUE, ORANGE, GREEN, YELLOW, RED, GREY = "#2f6fdb", "#d9730d", "green", "yellow", "red", "#8e8e8e"
PARADIGMS = {0: ("record by record", BLUE), 1: ("in batches", ORANGE)}
HEARD, IN_BATCHES = 'state="heard"', 'paradigm="batch"'
YES = {0: ("no", RED), 1: ("yes", GREEN)}


class Query(NamedTuple):
    """One line of a panel, or several of one kind: PromQL, and what they are called."""

    expression: str
    legend: str = JOB


class Column(NamedTuple):
    """One column of a sheet: its query, title and unit, and what its values stand for or from where they are red."""

    expression: str
    title: str
    unit: str = "short"
    decimals: int = 0
    words: Mapping[int, tuple[str, str]] | None = None
    steps: Sequence[tuple[float | None, str]] = ()


def of(metric: str, more: str = "", window: str = "") -> str:
    """A metric of the jobs that were chosen, and `more` of its labels."""
    inside = OF_JOBS[:-1] + (f", {more}" if more else "") + "}"
    return f"{metric}{inside}{f'[{window}]' if window else ''}"


def rate(metric: str, by: str = BY_JOB, more: str = "", window: str = "$__rate_interval") -> str:
    """How fast a counter goes up."""
    return f"sum {by} (rate({of(metric, more, window)}))"


def gone_up(metric: str, by: str = BY_JOB, more: str = "", window: str = "$__range") -> str:
    """By how much a counter went up."""
    return f"sum {by} (increase({of(metric, more, window)}))"


def in_time(window: str, by: str = BY_JOB) -> str:
    """The share of the records that left within the bound."""
    count = rate("spillway_latency_seconds_count", by, window=window)
    return f"{rate('spillway_within_bound_total', by, window=window)} / ({count} > 0)"


def burn(window: str) -> str:
    """How many times as fast as it may the error budget is used up."""
    return f"(1 - {in_time(window)}) / (1 - max {BY_JOB} ({of('spillway_latency_quantile')}))"


def figure(title: str, says: str, query: Query, unit: str = "short", **more: Any) -> stat.Panel:
    """One number, as it is now; `words`, `steps`, `decimals`, `span` and `plain` as they are needed."""
    panel: stat.Panel = _common(stat.Panel(), title, says, unit, more)
    panel.reduce_options(common.ReduceDataOptions().calcs(["lastNotNull"]))
    panel.graph_mode(looks.BigValueGraphMode.NONE if more.get("plain") else looks.BigValueGraphMode.AREA)
    panel.color_mode(looks.BigValueColorMode.VALUE)
    panel.text_mode(looks.BigValueTextMode.VALUE)
    return panel.height(4).span(more.get("span", 4)).with_target(_target(0, query, instant=bool(more.get("plain"))))


def graph(title: str, says: str, *lines: Query, unit: str = "short", **more: Any) -> timeseries.Panel:
    """Lines over time; `stacked` ones are added up, `bars` count; `colours` go by legend or /pattern/."""
    panel: timeseries.Panel = _common(timeseries.Panel(), title, says, unit, more)
    panel.height(8).span(more.get("span", WHOLE // 2)).min(0)
    panel.line_width(1).fill_opacity(60 if more.get("stacked") or more.get("bars") else 8)
    panel.show_points(looks.VisibilityMode.NEVER)
    panel.draw_style(looks.GraphDrawStyle.BARS if more.get("bars") else looks.GraphDrawStyle.LINE)
    if more.get("stacked") or more.get("bars"):
        panel.stacking(common.StackingConfig().mode(looks.StackingMode.NORMAL))
    legend = common.VizLegendOptions().show_legend(True).placement(looks.LegendPlacement.BOTTOM)
    panel.legend(legend.display_mode(looks.LegendDisplayMode.LIST))
    panel.tooltip(common.VizTooltipOptions().mode(looks.TooltipDisplayMode.MULTI).sort(looks.SortOrder.DESCENDING))
    for name, colour in more.get("colours", {}).items():
        fixed = {"mode": "fixed", "fixedColor": colour}
        override = panel.override_by_regexp if name.startswith("/") else panel.override_by_name
        override(name, [models.DynamicConfigValue("color", fixed)])
    for number, line in enumerate(lines):
        panel.with_target(_target(number, line))
    return panel


def timeline(title: str, says: str, query: Query, words: Mapping[int, tuple[str, str]], **more: Any) -> Any:
    """What holds when: a bar for each series, in words and colours."""
    panel = _common(statetimeline.Panel(), title, says, "short", {**more, "words": words})
    panel.height(more.get("height", 6)).span(more.get("span", WHOLE)).merge_values(True).row_height(0.8)
    panel.show_value(looks.VisibilityMode.NEVER)
    legend = common.VizLegendOptions().show_legend(True).placement(looks.LegendPlacement.BOTTOM)
    return panel.legend(legend.display_mode(looks.LegendDisplayMode.LIST)).with_target(_target(0, query))


def sheet(title: str, says: str, keys: Mapping[str, str], *columns: Column, link: str = "", **more: Any) -> table.Panel:
    """A line for each series, named by the labels `keys`, and a column for each query; the last key leads to `link`."""
    panel: table.Panel = _common(table.Panel(), title, says, "short", more)
    panel.height(more.get("height", 8)).span(WHOLE).cell_height(looks.TableCellHeight.SM)
    names = dict(keys)
    for number, column in enumerate(columns):
        panel.with_target(_target(number, Query(column.expression, ""), instant=True, sheet=True))
        names[f"Value #{_letter(number)}"] = column.title
        values = [
            models.DynamicConfigValue("unit", column.unit),
            models.DynamicConfigValue("decimals", column.decimals),
        ]
        if column.words:
            values.append(models.DynamicConfigValue("mappings", [_words(column.words)]))
        if column.words or column.steps:
            values.append(models.DynamicConfigValue("custom.cellOptions", {"type": "color-text"}))
        if column.steps:
            values.append(models.DynamicConfigValue("thresholds", {"mode": "absolute", "steps": _steps(column.steps)}))
        panel.override_by_name(column.title, values)
    panel.with_transformation(models.DataTransformerConfig("merge", options={}))
    order = {name: number for number, name in enumerate(names)}
    options = {"excludeByName": {"Time": True}, "indexByName": order, "renameByName": names}
    panel.with_transformation(models.DataTransformerConfig("organize", options=options))
    if link:
        links = [{"title": "this job", "url": link}]
        panel.override_by_name(list(keys.values())[-1], [models.DynamicConfigValue("links", links)])
    return panel


def board(uid: str, title: str, says: str, *, job: bool | None) -> builders.Dashboard:
    """An empty dashboard; with the variables of jobs, many of them or (`job`) one."""
    made = builders.Dashboard(f"Spillway: {title}").uid(uid).description(says).tags(["spillway"])
    made.refresh("30s").time("now-1h", "now").timezone("browser").tooltip(models.DashboardCursorSync.CROSSHAIR)
    made.editable()
    link = builders.DashboardLink("Spillway").type(models.DashboardLinkType.DASHBOARDS).tags(["spillway"])
    made.link(link.as_dropdown(True).keep_time(True).include_vars(False))
    made.with_variable(builders.DatasourceVariable("datasource").label("Data source").type("prometheus"))
    if job is not None:
        metric = "spillway_latency_quantile"
        made.with_variable(_variable("namespace", "Namespace", f"label_values({metric}, namespace)", many=not job))
        of_namespace = f'label_values({metric}{{namespace=~"$namespace"}}, spillway_dev_job)'
        made.with_variable(_variable("job", "Job", of_namespace, many=not job))
    return made


def mark(made: builders.Dashboard, name: str, colour: str, expression: str, text: str) -> None:
    """Vertical lines in all graphs where an expression has a value."""
    note = builders.AnnotationQuery().name(name).datasource(SOURCE).enable(True).icon_color(colour).expr(expression)
    built = note.build()

    class Note:
        """What the builder has no word for: how an annotation of Prometheus is called."""

        def build(self) -> models.AnnotationQuery:
            return _Told(built, {"titleFormat": name, "textFormat": text, "step": "15s"})  # type: ignore[return-value]

    made.annotation(Note())  # type: ignore[arg-type]


class _Told:
    """A part of a dashboard with fields that the models don't have."""

    def __init__(self, part: Any, more: Mapping[str, Any]) -> None:
        self._part, self._more = part, more

    def to_json(self) -> dict[str, object]:
        return {**self._part.to_json(), **self._more}


def built(made: builders.Dashboard) -> models.Dashboard:
    """The dashboard, with panels that are numbered: links to them stay right when a text changes."""
    dashboard = made.build()
    for number, panel in enumerate(dashboard.panels or [], 1):
        panel.id_val = number
    return dashboard


def row(made: builders.Dashboard, title: str, *panels: Any) -> None:
    """A titled group of panels."""
    made.with_row(builders.Row(title))
    for panel in panels:
        made.with_panel(panel)


def _common(panel: Any, title: str, says: str, unit: str, more: Mapping[str, Any]) -> Any:
    panel.title(title).description(says).unit(unit).datasource(SOURCE)
    if "decimals" in more:
        panel.decimals(more["decimals"])
    if "most" in more:
        panel.max(more["most"])
    if "words" in more:
        panel.mappings([_words(more["words"])])
    steps = more.get("steps") or ([(None, BLUE)] if "words" not in more else [])
    if steps:
        panel.thresholds(builders.ThresholdsConfig().mode(models.ThresholdsMode.ABSOLUTE).steps(_steps(steps)))
    return panel


def _words(words: Mapping[int, tuple[str, str]]) -> models.ValueMap:
    results = {
        str(value): models.ValueMappingResult(text=text, color=colour, index=number)
        for number, (value, (text, colour)) in enumerate(words.items())
    }
    return models.ValueMap(options=results)


def _steps(steps: Sequence[tuple[float | None, str]]) -> list[models.Threshold]:
    return [models.Threshold(value, colour) for value, colour in steps]


def _letter(number: int) -> str:
    return chr(ord("A") + number)


def _target(number: int, query: Query, *, instant: bool = False, sheet: bool = False) -> prometheus.Dataquery:
    made = prometheus.Dataquery().datasource(SOURCE).expr(query.expression).ref_id(_letter(number))
    made.legend_format(query.legend).editor_mode(queries.QueryEditorMode.CODE)
    made = made.instant() if instant else made.range()
    return made.format(queries.PromQueryFormat.TABLE if sheet else queries.PromQueryFormat.TIME_SERIES)


def _variable(name: str, label: str, query: str, *, many: bool) -> builders.QueryVariable:
    made = builders.QueryVariable(name).label(label).query(query).datasource(SOURCE)
    made.refresh(models.VariableRefresh.ON_TIME_RANGE_CHANGED).sort(models.VariableSort.ALPHABETICAL_ASC)
    if many:
        made.multi(True).include_all(True).all_value(".+")
        made.current(models.VariableOption(selected=True, text=["All"], value=["$__all"]))
    return made
