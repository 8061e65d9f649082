"""Manifests that are wrong in one way each, who refuses them, and in which words.

`SCHEMA` and `CEL` are refused by the API server; `ACCEPTED` passes it, and the condition Accepted becomes False.
The validator (`spillway validate`, and the manager) finds all of them.
"""

# ruff: noqa: E501 - a table reads best with a case in each line

from __future__ import annotations

import copy
import dataclasses
import enum
import re
from typing import Any


class By(enum.Enum):
    """Who refuses a manifest first."""

    SCHEMA = "API server, by the schema"
    CEL = "API server, by a rule"
    ACCEPTED = "condition Accepted=False"


ABSENT = object()

GOOD: dict[str, Any] = {
    "apiVersion": "spillway.dev/v1alpha1",
    "kind": "StreamJob",
    "metadata": {"name": "good", "namespace": "default"},
    "spec": {
        "kafka": {"bootstrapServers": ["kafka:9092"]},
        "latency": {"bound": "500ms"},
        "streams": [
            {"name": "clicks", "topic": "clicks", "columns": "user string, page string, price double, at timestamp"},
            {"name": "sales", "topic": "sales", "columns": "user string, total decimal(10,2), sold timestamp"},
        ],
        "tables": [
            {"name": "users", "topic": "users", "key": ["user"], "columns": "user string, country string, age int"}
        ],
        "operators": [
            {"name": "dear", "input": "clicks", "filter": "price > 10"},
            {"name": "pages", "input": "dear", "select": ["user", "page", "upper(page) as title", "price"]},
            {"name": "letters", "input": "pages", "explode": {"array": "split(page, '/')", "as": "part"}},
            {"name": "known", "input": "letters", "join": {"table": "users", "by": ["user"]}},
            {
                "name": "counts",
                "input": "known",
                "aggregate": {"by": ["country"], "window": {"size": "10s"}, "values": ["count(*) as views"]},
                "retention": "1h",
            },
            {"name": "bought", "input": "clicks", "join": {"stream": "sales", "by": ["user"], "within": "5m"}},
            {
                "name": "scored",
                "input": "bought",
                "python": {"function": "ads:score", "as": "map", "returns": "s double"},
            },
        ],
        "outputs": [
            {"name": "views", "input": "counts", "topic": "views"},
            {"name": "scores", "input": "scored", "topic": "scores"},
        ],
    },
}


@dataclasses.dataclass(frozen=True, slots=True)
class Case:
    """One edit of the good manifest: a path below spec (or from the root with /) and what stands there then."""

    path: str
    value: Any
    by: By
    server: str  # part of what the API server says; empty where it accepts
    validator: str  # part of what the validator says, place and all
    more: tuple[tuple[str, Any], ...] = ()

    @property
    def manifest(self) -> dict[str, Any]:
        """The good manifest with the edits made."""
        made = copy.deepcopy(GOOD)
        self.apply(made)
        return made

    def apply(self, manifest: dict[str, Any]) -> None:
        """Make the edits in a manifest, which may have been edited before."""
        for path, value in ((self.path, self.value), *self.more):
            root, steps = (manifest, path[1:]) if path.startswith("/") else (manifest["spec"], path)
            edit(root, steps, value if value is ABSENT else copy.deepcopy(value))


def edit(root: Any, path: str, value: Any) -> None:
    """Set, or with ABSENT remove, what stands at `a.b[0].c`; `[+]` appends."""
    steps = re.findall(r"[^.\[\]]+|\[\d+\]|\[\+\]", path)
    for step in steps[:-1]:
        root = root[int(step[1:-1])] if step.startswith("[") else root.setdefault(step, {})
    last = steps[-1]
    if last == "[+]":
        root.append(value)
    elif value is ABSENT:
        del root[int(last[1:-1]) if last.startswith("[") else last]
    else:
        root[int(last[1:-1]) if last.startswith("[") else last] = value


def _operator(name: str, reads: str, **kind: Any) -> dict[str, Any]:
    return {"name": name, "input": reads, **kind}


def _read_by(name: str) -> tuple[tuple[str, Any], ...]:
    return (("outputs[+]", {"name": f"out-{name}", "input": name, "topic": f"out-{name}"}),)


_SCHEMA: dict[str, Case] = {
    "the kafka section is missing": Case(
        "kafka", ABSENT, By.SCHEMA, "spec.kafka: Required value", "spec.kafka: is missing"
    ),
    "no bootstrap server": Case(
        "kafka.bootstrapServers", [], By.SCHEMA, "should have at least 1 items", "spec.kafka.bootstrapServers: must not be empty"
    ),
    "a bootstrap server without a port": Case(
        "kafka.bootstrapServers[0]", "kafka", By.SCHEMA, "should match", "spec.kafka.bootstrapServers[0]: 'kafka' is not a server"
    ),
    "too many bootstrap servers": Case(
        "kafka.bootstrapServers", [f"k{i}:1" for i in range(17)], By.SCHEMA, "Too many: 17", "has more than 16 entries"
    ),
    "an unknown security protocol": Case(
        "kafka.security", {"protocol": "TLS"}, By.SCHEMA, 'Unsupported value: "TLS"', "spec.kafka.security.protocol: 'TLS' is not one of"
    ),
    "an unknown SASL mechanism": Case(
        "kafka.security",
        {"protocol": "SASL_SSL", "mechanism": "GSSAPI", "secretRef": {"name": "s"}},
        By.SCHEMA,
        'Unsupported value: "GSSAPI"',
        "spec.kafka.security.mechanism: 'GSSAPI' is not one of",
    ),
    "a secret reference without a name": Case(
        "kafka.security",
        {"protocol": "SASL_SSL", "mechanism": "PLAIN", "secretRef": {}},
        By.SCHEMA,
        "secretRef.name: Required value",
        "spec.kafka.security.secretRef.name: is missing",
    ),
    "the promise is missing": Case("latency", ABSENT, By.SCHEMA, "spec.latency: Required value", "spec.latency: is missing"),
    "the promise has no bound": Case(
        "latency", {}, By.SCHEMA, "spec.latency.bound: Required value", "spec.latency.bound: is missing"
    ),
    "a bound without a unit": Case(
        "latency.bound", "500", By.SCHEMA, "should match", "spec.latency.bound: '500' is not a duration; write a number and a unit"
    ),
    "a bound that is a number": Case(
        "latency.bound", 500, By.SCHEMA, "must be of type string", "spec.latency.bound: 500 is not a duration"
    ),
    "a bound with a unit that nobody knows": Case(
        "latency.bound", "5 min", By.SCHEMA, "should match", "spec.latency.bound: '5 min' is not a duration"
    ),
    "a negative bound": Case("latency.bound", "-5s", By.SCHEMA, "should match", "'-5s' is not a duration"),
    "a bound of very many digits": Case(
        "latency.bound", "9" * 40 + "s", By.SCHEMA, "Too long", "is not a duration"
    ),
    "a quantile that is text": Case(
        "latency.quantile", "p99", By.SCHEMA, "must be of type number", "spec.latency.quantile: expected a number, found 'p99'"
    ),
    "a misspelt field of the promise": Case(
        "latency.quantil", 0.9, By.SCHEMA, 'unknown field "spec.latency.quantil"', "unknown field 'quantil', did you mean 'quantile'?"
    ),
    "a misspelt field of the spec": Case(
        "operaters", [], By.SCHEMA, 'unknown field "spec.operaters"', "spec.operaters: unknown field 'operaters', did you mean 'operators'?"
    ),
    "no stream": Case("streams", [], By.SCHEMA, "should have at least 1 items", "spec.streams: must not be empty"),
    "too many streams": Case(
        "streams",
        [{"name": f"s{i}", "topic": "t", "columns": "a int"} for i in range(33)],
        By.SCHEMA,
        "Too many: 33",
        "spec.streams: has more than 32 entries",
    ),
    "a stream without a topic": Case(
        "streams[0].topic", ABSENT, By.SCHEMA, "topic: Required value", "spec.streams[0].topic: is missing"
    ),
    "a stream without columns": Case(
        "streams[0].columns", ABSENT, By.SCHEMA, "columns: Required value", "spec.streams[0].columns: is missing"
    ),
    "a topic with a space": Case(
        "streams[0].topic", "my topic", By.SCHEMA, "should match", "spec.streams[0].topic: 'my topic' is not the name of a Kafka topic"
    ),
    "a topic that is a path": Case("streams[0].topic", "../x", By.SCHEMA, "should match", "is not the name of a Kafka topic"),
    "a topic with a very long name": Case(
        "streams[0].topic", "x" * 300, By.SCHEMA, "Too long", "spec.streams[0].topic: is 300 characters long; at most 249"
    ),
    "an unknown format": Case(
        "streams[0].format", "avro", By.SCHEMA, 'Unsupported value: "avro"', "spec.streams[0].format: 'avro' is not one of 'json' or 'raw'"
    ),
    "columns as a list": Case(
        "streams[0].columns", ["a int"], By.SCHEMA, "must be of type string", "spec.streams[0].columns: expected text, found a list"
    ),
    "a table without a key": Case(
        "tables[0].key", ABSENT, By.SCHEMA, "key: Required value", "spec.tables[0].key: is missing"
    ),
    "a table with an empty key": Case(
        "tables[0].key", [], By.SCHEMA, "should have at least 1 items", "spec.tables[0].key: must not be empty"
    ),
    "an unknown distribution": Case(
        "tables[0].distribution", "everywhere", By.SCHEMA, "Unsupported value", "'everywhere' is not one of 'broadcast' or 'partitioned'"
    ),
    "no operator": Case("operators", [], By.SCHEMA, "should have at least 1 items", "spec.operators: must not be empty"),
    "too many operators": Case(
        "operators",
        [_operator(f"o{i}", "clicks", filter="true") for i in range(257)],
        By.SCHEMA,
        "Too many: 257",
        "spec.operators: has more than 256 entries",
    ),
    "operators as a mapping": Case(
        "operators", {"a": 1}, By.SCHEMA, 'unknown field "spec.operators.a"', "spec.operators: expected a list, found a mapping"
    ),
    "an operator without a name": Case(
        "operators[0].name", ABSENT, By.SCHEMA, "name: Required value", "spec.operators[0].name: is missing"
    ),
    "an operator's name in capitals": Case(
        "operators[0].name", "Dear", By.SCHEMA, "should match", "spec.operators[0].name: 'Dear' is not a name; use small letters"
    ),
    "an operator's name beyond ASCII": Case(
        "operators[0].name", "größe", By.SCHEMA, "should match", "'größe' is not a name; use small letters"
    ),
    "a name that looks like another one": Case(
        "operators[0].name", "de\u0430r", By.SCHEMA, "should match", "is not a name; use small letters"
    ),
    "an operator's name with 51 letters": Case(
        "operators[0].name", "d" * 51, By.SCHEMA, "Too long", "spec.operators[0].name: is 51 characters long; at most 50"
    ),
    "two operators of one name": Case(
        "operators[1].name", "dear", By.SCHEMA, "Duplicate value", "spec.operators[1].name: name 'dear' is taken by the operator"
    ),
    "two outputs of one name": Case(
        "outputs[1].name", "views", By.SCHEMA, "Duplicate value", "spec.outputs[1].name: name 'views' is taken"
    ),
    "an empty filter": Case(
        "operators[0].filter", "", By.SCHEMA, "at least 1 chars long", "spec.operators[0].filter: must not be empty"
    ),
    "a filter that is a number": Case(
        "operators[0].filter", 1, By.SCHEMA, "must be of type string", "spec.operators[0].filter: expected text, found 1"
    ),
    "a filter of many kilobytes": Case(
        "operators[0].filter", "price > 1 or " * 400 + "true", By.SCHEMA, "Too long", "spec.operators[0].filter: is longer than 4096"
    ),
    "a select of nothing": Case(
        "operators[1].select", [], By.SCHEMA, "should have at least 1 items", "spec.operators[1].select: must not be empty"
    ),
    "an explode without a name for its element": Case(
        "operators[2].explode.as", ABSENT, By.SCHEMA, "as: Required value", "spec.operators[2].explode.as: is missing"
    ),
    "a join without columns": Case(
        "operators[3].join.by", ABSENT, By.SCHEMA, "by: Required value", "spec.operators[3].join.by: is missing"
    ),
    "a join of an unknown type": Case(
        "operators[3].join.type", "outer", By.SCHEMA, 'Unsupported value: "outer"', "spec.operators[3].join.type: 'outer' is not one of"
    ),
    "an aggregate without values": Case(
        "operators[4].aggregate.values", [], By.SCHEMA, "should have at least 1 items", "aggregate.values: must not be empty"
    ),
    "a Python function that is only a name": Case(
        "operators[6].python.function", "score", By.SCHEMA, "should match", "'score' is not a function; write module:function"
    ),
    "a Python function by its path": Case(
        "operators[6].python.function", "../ads.py:score", By.SCHEMA, "should match", "is not a function; write module:function"
    ),
    "a Python function that does something unknown": Case(
        "operators[6].python.as", "reduce", By.SCHEMA, 'Unsupported value: "reduce"', "'reduce' is not one of 'map', 'filter' or 'flatMap'"
    ),
    "one input in a list": Case(
        "operators[0].inputs", ["clicks"], By.SCHEMA, "should have at least 2 items", "spec.operators[0].inputs: needs 2 or more"
    ),
    "an unknown paradigm": Case(
        "operators[0].paradigm", "stream", By.SCHEMA, "Unsupported value", "spec.operators[0].paradigm: 'stream' is not one of"
    ),
    "a negative selectivity": Case(
        "operators[0].costs", {"selectivity": -1}, By.SCHEMA, "greater than or equal to 0", "costs.selectivity: is -1; must be 0 or more"
    ),
    "no output": Case("outputs", [], By.SCHEMA, "should have at least 1 items", "spec.outputs: must not be empty"),
    "the outputs are missing": Case("outputs", ABSENT, By.SCHEMA, "spec.outputs: Required value", "spec.outputs: is missing"),
    "zero workers at most": Case(
        "execution.workers", {"max": 0}, By.SCHEMA, "greater than or equal to 1", "spec.execution.workers.max: is 0; must be 1 or more"
    ),
    "a million workers": Case(
        "execution.workers", {"max": 10**6}, By.SCHEMA, "less than or equal to 1000", "is 1000000; must be 1000 or less"
    ),
    "half a worker": Case(
        "execution.workers", {"min": 0.5}, By.SCHEMA, "must be of type integer", "spec.execution.workers.min:"
    ),
    "a cache of ten rows": Case(
        "execution.state", {"cachedRows": 10}, By.SCHEMA, "greater than or equal to 1000", "spec.execution.state.cachedRows: is 10; must be 1000 or more"
    ),
    "rows in a place that nobody knows": Case(
        "execution.state", {"store": "s3"}, By.SCHEMA, "Unsupported value", "spec.execution.state.store: 's3' is not one of 'memory' or 'disk'"
    ),
    "executor memory without a unit that is known": Case(
        "execution.executors", {"memory": "1 GB"}, By.SCHEMA, "should match", "'1 GB' is not an amount of memory"
    ),
    "an unknown delivery": Case(
        "execution.delivery", "at-most-once", By.SCHEMA, "Unsupported value", "spec.execution.delivery: 'at-most-once' is not one of"
    ),
    "an unknown mode": Case("policy.mode", "dry-run", By.SCHEMA, "Unsupported value", "spec.policy.mode: 'dry-run' is not one of"),
    "paused as text": Case(
        "policy.paused", "yes", By.SCHEMA, "must be of type boolean", "spec.policy.paused: expected true or false, found 'yes'"
    ),
    "a code reference that is text": Case(
        "execution.code", "functions", By.SCHEMA, "must be of type object", "spec.execution.code: expected a mapping, found 'functions'"
    ),
}  # fmt: skip

_CEL: dict[str, Case] = {
    "a hysteresis of one": Case(
        "policy.hysteresis",
        1,
        By.CEL,
        "must be between 0.01 and 0.9",
        "spec.policy.hysteresis: must be between 0.01 and 0.9, is 1",
    ),
    "a quantile of zero": Case(
        "latency.quantile",
        0,
        By.CEL,
        "must be between 0.5 and 0.9999",
        "spec.latency.quantile: must be between 0.5 and 0.9999, is 0",
    ),
    "a quantile above one": Case(
        "latency.quantile",
        99,
        By.CEL,
        "must be between 0.5 and 0.9999",
        "spec.latency.quantile: must be between 0.5 and 0.9999, is 99",
    ),
    "a job's name with a dot": Case(
        "/metadata.name", "a.b", By.CEL, "the name of a job has small letters", "metadata.name: 'a.b' is not the name of a job"
    ),
    "a job's name of 41 letters": Case(
        "/metadata.name", "a" * 41, By.CEL, "at most 40 long", "metadata.name: is 41 characters long; at most 40"
    ),
    "a bound of no time": Case(
        "latency.bound", "0ms", By.CEL, "must be between 1ms and 1h", "spec.latency.bound: must be between 1ms and 1h, is 0ns"
    ),
    "a bound of a day": Case(
        "latency.bound", "24h", By.CEL, "must be between 1ms and 1h", "spec.latency.bound: must be between 1ms and 1h, is 24h"
    ),
    "a disk for what stays in memory": Case(
        "execution",
        {"state": {"store": "disk"}},
        By.CEL,
        "disk is for aggregates and tables",
        "spec.execution.state.store: disk is for aggregates and tables, and this job has none",
        (
            ("tables", ABSENT),
            ("operators", [_operator("bought", "clicks", join={"stream": "sales", "by": ["user"], "within": "5m"})]),
            ("outputs", [{"name": "scores", "input": "bought", "topic": "scores"}]),
        ),
    ),
    "SASL without a mechanism": Case(
        "kafka.security",
        {"protocol": "SASL_SSL", "secretRef": {"name": "s"}},
        By.CEL,
        "`mechanism` goes with the SASL protocols",
        "spec.kafka.security.mechanism: `mechanism` goes with the SASL protocols",
    ),
    "SASL without a secret": Case(
        "kafka.security",
        {"protocol": "SASL_SSL", "mechanism": "PLAIN"},
        By.CEL,
        "the SASL protocols need `secretRef`",
        "spec.kafka.security.secretRef: the SASL protocols need",
    ),
    "an operator of no kind": Case(
        "operators[0].filter", ABSENT, By.CEL, "an operator is exactly one of", "spec.operators[0]: an operator is exactly one of"
    ),
    "an operator of two kinds": Case(
        "operators[0].select", ["user"], By.CEL, "an operator is exactly one of", "spec.operators[0]: an operator is exactly one of"
    ),
    "an operator without an input": Case(
        "operators[0].input", ABSENT, By.CEL, "exactly one of `input` and `inputs`", "spec.operators[0]: name exactly one of `input`"
    ),
    "an operator with input and inputs": Case(
        "operators[0].inputs", ["clicks", "sales"], By.CEL, "exactly one of `input`", "spec.operators[0]: name exactly one of `input`"
    ),
    "a join with several inputs": Case(
        "operators[3].input",
        ABSENT,
        By.CEL,
        "a join has one `input`",
        "spec.operators[3].inputs: a join has one `input`",
        (("operators[3].inputs", ["letters", "pages"]),),
    ),
    "a retention on a filter": Case(
        "operators[0].retention", "1h", By.CEL, "only an aggregate or a join keeps anything", "spec.operators[0].retention: only an aggregate"
    ),
    "a retention shorter than the window": Case(
        "operators[4].retention", "5s", By.CEL, "must not be shorter than the window", "spec.operators[4].retention: retention must not be shorter"
    ),
    "a retention shorter than the join's span": Case(
        "operators[5].retention", "1m", By.CEL, "must not be shorter than the join's", "spec.operators[5].retention: retention must not be shorter"
    ),
    "a retention of ten years": Case(
        "operators[4].retention", "87600h", By.CEL, "must be between 1s and 8760h", "must be between 1s and 8760h, is 87600h"
    ),
    "a window of no time": Case(
        "operators[4].aggregate.window.size", "0s", By.CEL, "must be between 1ms and 8760h", "window.size: must be between 1ms and 8760h"
    ),
    "a window that slides past its end": Case(
        "operators[4].aggregate.window.slide", "1m", By.CEL, "slide must not be longer than size", "window.slide: slide must not be longer"
    ),
    "a join with a table and a stream": Case(
        "operators[3].join.stream", "sales", By.CEL, "exactly one of `table` and `stream`", "spec.operators[3].join: name exactly one of `table`"
    ),
    "a join with nothing": Case(
        "operators[3].join", {"by": ["user"]}, By.CEL, "exactly one of `table` and `stream`", "spec.operators[3].join: name exactly one of"
    ),
    "a join of streams without a span": Case(
        "operators[5].join.within", ABSENT, By.CEL, "needs `within`", "spec.operators[5].join: a join with a stream needs `within`"
    ),
    "a span in a join with a table": Case(
        "operators[3].join.within", "5s", By.CEL, "`within` belongs to a join with a stream", "join.within: `within` belongs to"
    ),
    "asOf in a join of streams": Case(
        "operators[5].join.asOf", "latest", By.CEL, "`asOf` belongs to a join with a table", "join.asOf: `asOf` belongs to"
    ),
    "batch for a join of streams": Case(
        "operators[5].paradigm", "batch", By.CEL, "keeps state and works record by record", "spec.operators[5].paradigm: a join of two"
    ),
    "a Python map that returns nothing": Case(
        "operators[6].python.returns", ABSENT, By.CEL, "map and flatMap need `returns`", "spec.operators[6].python: map and flatMap need"
    ),
    "a Python filter that returns columns": Case(
        "operators[6].python.as", "filter", By.CEL, "a filter has none", "spec.operators[6].python: map and flatMap need"
    ),
    "fewer workers at most than at least": Case(
        "execution.workers", {"min": 9}, By.CEL, "min must not be greater than max", "spec.execution.workers.min: min must not be greater"
    ),
    "fewer executors at most than at least": Case(
        "execution.executors", {"min": 5}, By.CEL, "min must not be greater than max", "spec.execution.executors.min: min must not be"
    ),
    "executors too small for Spark": Case(
        "execution.executors", {"memory": "256Mi"}, By.CEL, "must be between 512Mi and 1Ti", "must be between 512Mi and 1Ti, is 256Mi"
    ),
    "drop where order is kept": Case(
        "policy", {"drop": True}, By.CEL, "drop needs overload mostInTime", "spec.policy.drop: drop needs overload mostInTime"
    ),
    "batch without executors": Case(
        "execution", {"paradigm": "batch", "executors": {"min": 0, "max": 0}}, By.CEL, "needs executors", "spec.execution.executors: paradigm batch"
    ),
    "a headroom of everything": Case(
        "policy.headroom", 1, By.CEL, "must be between 0 and 0.9", "spec.policy.headroom: must be between 0 and 0.9, is 1"
    ),
    "a cooldown of a week": Case(
        "policy.cooldown", "168h", By.CEL, "must be between 0s and 24h", "spec.policy.cooldown: must be between 0s and 24h, is 168h"
    ),
    "a cost of an hour": Case(
        "operators[0].costs", {"cpu": "1h"}, By.CEL, "must be between 0ns and 1m", "costs.cpu: must be between 0ns and 1m, is 1h"
    ),
    "an operator named as a stream": Case(
        "operators[0].name", "sales", By.CEL, "must differ from one another", "spec.operators[0].name: name 'sales' is taken by the stream",
        (("operators[1].input", "sales"),),
    ),
    "a table named as a stream": Case(
        "tables[0].name", "clicks", By.CEL, "must differ from one another", "spec.tables[0].name: name 'clicks' is taken by the stream"
    ),
    "an input that is not there": Case(
        "operators[1].input", "deer", By.CEL, "every operator's input must be", "spec.operators[1].input: no stream, table or operator is called 'deer', did you mean 'dear'?"
    ),
    "an output of nothing": Case(
        "outputs[0].input", "count", By.CEL, "every output's input must be", "spec.outputs[0].input: no stream, table or operator is called 'count', did you mean 'counts'?"
    ),
    "an output to a topic that the job reads": Case(
        "outputs[0].topic", "clicks", By.CEL, "must not write a topic that the job reads", "spec.outputs[0].topic: topic 'clicks' is read as 'clicks'"
    ),
}  # fmt: skip

_ACCEPTED: dict[str, Case] = {
    "one of several inputs is not there": Case(
        "operators[0].input",
        ABSENT,
        By.ACCEPTED,
        "",
        "spec.operators[0].inputs[1]: no stream, table or operator is called 'click', did you mean 'clicks'?",
        (("operators[0].inputs", ["clicks", "click"]),),
    ),
    "a join with a table that is not there": Case(
        "operators[3].join.table", "user", By.ACCEPTED, "", "join.table: no stream, table or operator is called 'user', did you mean 'users'?"
    ),
    "operators in a circle": Case(
        "operators[0].input", "pages", By.ACCEPTED, "", "operators read each other in a circle: "
    ),
    "an operator that reads itself": Case(
        "operators[0].input", "dear", By.ACCEPTED, "", "operators read each other in a circle: dear → dear"
    ),
    "an operator that nobody reads": Case(
        "operators[+]", _operator("lonely", "clicks", filter="true"), By.ACCEPTED, "", "spec.operators[7]: nobody reads operator 'lonely'"
    ),
    "a stream that nobody reads": Case(
        "streams[+]", {"name": "more", "topic": "more", "columns": "a int"}, By.ACCEPTED, "", "spec.streams[2]: nobody reads stream 'more'"
    ),
    "two outputs to one topic": Case(
        "outputs[1].topic", "views", By.ACCEPTED, "", "spec.outputs[1].topic: topic 'views' is written by output 'views' already"
    ),
    "a type that nobody knows": Case(
        "streams[0].columns", "user strng", By.ACCEPTED, "", "spec.streams[0].columns: unknown type 'strng', did you mean 'string'?"
    ),
    "a type that Spark has and Spillway has not": Case(
        "streams[0].columns", "user string, m map<string,int>", By.ACCEPTED, "", "type 'map' is not supported"
    ),
    "a column that is there twice": Case(
        "streams[0].columns", "user string, user int", By.ACCEPTED, "", "spec.streams[0].columns: column 'user' is there twice"
    ),
    "columns that differ in case only": Case(
        "streams[0].columns", "user string, User int", By.ACCEPTED, "", "'user' and 'User' differ in case only"
    ),
    "a raw stream with two columns": Case(
        "streams[0].format", "raw", By.ACCEPTED, "", "spec.streams[0].columns: format raw has exactly one column"
    ),
    "an event time that is no column": Case(
        "streams[0].timestamp", "att", By.ACCEPTED, "", "spec.streams[0].timestamp: unknown column 'att', did you mean 'at'?"
    ),
    "an event time that is text": Case(
        "streams[0].timestamp", "page", By.ACCEPTED, "", "column 'page' is string; event time has to be a timestamp"
    ),
    "a table's key that is no column": Case(
        "tables[0].key", ["usr"], By.ACCEPTED, "", "spec.tables[0].key[0]: unknown column 'usr', did you mean 'user'?"
    ),
    "an unknown column in a filter": Case(
        "operators[0].filter", "prise > 10", By.ACCEPTED, "", "spec.operators[0].filter: unknown column 'prise', did you mean 'price'?"
    ),
    "an unknown function": Case(
        "operators[1].select[2]", "uper(page) as title", By.ACCEPTED, "", "spec.operators[1].select[2]: unknown function 'uper', did you mean 'upper'?"
    ),
    "a filter that is no condition": Case(
        "operators[0].filter", "price + 1", By.ACCEPTED, "", "spec.operators[0].filter:"
    ),
    "a comparison of text with a number": Case(
        "operators[0].filter", "user > 10", By.ACCEPTED, "", "spec.operators[0].filter:"
    ),
    "an expression that ends too early": Case(
        "operators[0].filter", "price >", By.ACCEPTED, "", "spec.operators[0].filter:"
    ),
    "a subquery": Case(
        "operators[0].filter", "price > (select 1)", By.ACCEPTED, "", "subqueries are not supported"
    ),
    "an expression without a name": Case(
        "operators[1].select[2]", "upper(page)", By.ACCEPTED, "", "spec.operators[1].select[2]:"
    ),
    "two columns of one name in a select": Case(
        "operators[1].select[2]", "upper(page) as page", By.ACCEPTED, "", "spec.operators[1].select[2]: column 'page' is there already"
    ),
    "an explode of something that is no array": Case(
        "operators[2].explode.array", "page", By.ACCEPTED, "", "spec.operators[2].explode.array: gives string, not an array"
    ),
    "an explode that keeps what is not there": Case(
        "operators[2].explode.keep", ["usr"], By.ACCEPTED, "", "explode.keep[0]: unknown column 'usr', did you mean 'user'?"
    ),
    "an aggregate that is a plain expression": Case(
        "operators[4].aggregate.values[0]", "country as c", By.ACCEPTED, "", "spec.operators[4].aggregate.values[0]:"
    ),
    "a group by a double": Case(
        "operators[4].aggregate.by", ["price"], By.ACCEPTED, "", "aggregate.by[0]: column 'price' is double, which can't be a key"
    ),
    "a join by a column that one side has not": Case(
        "operators[5].join.by", ["page"], By.ACCEPTED, "", "join.by[0]: on the other side: unknown column 'page'"
    ),
    "a join with a table that is a stream": Case(
        "operators[3].join.table", "sales", By.ACCEPTED, "", "join.table: 'sales' is a stream; write `stream: sales`"
    ),
    "a full join of a stream with a table": Case(
        "operators[3].join.type", "full", By.ACCEPTED, "", "join.type: a stream joins a table by inner or left"
    ),
    "a join with both sides having a column": Case(
        "tables[0].columns", "user string, page string, country string", By.ACCEPTED, "", "both sides have a column 'page'"
    ),
    "changelog of a stream": Case(
        "outputs[1].mode", "changelog", By.ACCEPTED, "", "spec.outputs[1].mode: 'scored' is a stream, which has no updates"
    ),
    "an output's key that is no column": Case(
        "outputs[0].key", ["land"], By.ACCEPTED, "", "spec.outputs[0].key[0]: unknown column 'land'"
    ),
    "several inputs with different columns": Case(
        "operators[0].input",
        ABSENT,
        By.ACCEPTED,
        "",
        "spec.operators[0].inputs[1]: 'sales' has the columns",
        (("operators[0].inputs", ["clicks", "sales"]),),
    ),
    "Python code that returns an unknown type": Case(
        "operators[6].python.returns", "s doubel", By.ACCEPTED, "", "python.returns: unknown type 'doubel', did you mean 'double'?"
    ),
    "min of a table": Case(
        "operators[+]",
        _operator("least", "counts", aggregate={"by": ["country"], "values": ["min(views) as least"]}),
        By.ACCEPTED,
        "",
        "min can't take a value back when a row of table 'counts' changes",
        _read_by("least"),
    ),
    "max of an outer join of streams": Case(
        "operators[5].join.type",
        "left",
        By.ACCEPTED,
        "",
        "spec.operators[7].aggregate.values[0]: max can't take a value back when join 'bought' corrects a record",
        (
            (
                "operators[+]",
                _operator("most", "bought", aggregate={"by": ["page"], "values": ["max(total) as most"]}),
            ),
            *_read_by("most"),
        ),
    ),
    "a join of streams that an outer join corrects": Case(
        "operators[5].join.type",
        "full",
        By.ACCEPTED,
        "",
        "join.stream: a join of streams takes no record back, and join 'bought' corrects those of 'bought'",
        (
            ("operators[+]", _operator("visits", "clicks", select=["user", "page as visited"])),
            (
                "operators[+]",
                _operator("again", "visits", join={"stream": "bought", "by": ["user"], "within": "5m"}),
            ),
            *_read_by("again"),
        ),
    ),
    "a select that loses a table's key": Case(
        "operators[+]",
        _operator("fewer", "counts", select=["views"]),
        By.ACCEPTED,
        "",
        "select must keep country, window_start, window_end",
        _read_by("fewer"),
    ),
}  # fmt: skip

CASES: dict[str, Case] = {**_SCHEMA, **_CEL, **_ACCEPTED}
