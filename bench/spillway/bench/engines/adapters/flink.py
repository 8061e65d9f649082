"""Workloads with Flink SQL, through PyFlink, from Kafka to Kafka.

    python flink.py BOOTSTRAP SOURCES OUTPUT NAME WORKLOAD FOLDER JARS API

API is `sql`, or `datastream`: word count alone, where every operator is a Python function, in a process of Python's.

One process of Java with two task slots. `split` calls a Python function for each line, in a Python process of Flink's;
all else is SQL. Without checkpoints, as by default: it stores nothing, and after a crash counts would begin anew; what
it is compared with stores state and positions, so this is in its favour.

Windows and counts tell with every record, into a table by key (upsert-kafka): windows of its own tell when a watermark
has passed. Chosen beyond the defaults: records are handed over within 5 ms instead of 100, objects are reused, and
producers wait a millisecond and compress, as ours do. Of the join with campaigns the side of the stream is forgotten
after a minute, or it would keep every event. Python gets bundles of a thousand records or 5 ms, and keeps the state of
50 000 keys with it: with the thousand of the default every word of a larger vocabulary is fetched from Java.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyflink.common import Configuration, SimpleStringSchema, Types, WatermarkStrategy
from pyflink.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from pyflink.datastream.connectors.kafka import (
    KafkaOffsetsInitializer,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
)
from pyflink.datastream.state import ValueStateDescriptor
from pyflink.table import DataTypes, EnvironmentSettings, TableEnvironment
from pyflink.table.udf import udtf

SETTINGS = {
    "parallelism.default": "2",
    "taskmanager.numberOfTaskSlots": "2",
    "execution.buffer-timeout.interval": "5 ms",
    "pipeline.object-reuse": "true",
    "table.local-time-zone": "UTC",
    "python.fn-execution.bundle.time": "5",
    "python.fn-execution.bundle.size": "1000",
    "python.state.cache-size": "50000",
}
ADS = "ad_id STRING, event_type STRING, event_time BIGINT"
SESSIONS = "geo STRING, session_time DOUBLE, event_time BIGINT"
LEFT = "session BIGINT, geo STRING, visitor BIGINT, session_time DOUBLE, event_time BIGINT"
RIGHT = "ad BIGINT, geo STRING, visitor BIGINT, watch_time DOUBLE, event_time BIGINT"
BIDS = "bid BIGINT, auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, event_time BIGINT"
PERSONS = "person BIGINT, name STRING, event_time BIGINT"
AUCTIONS = "auction BIGINT, seller BIGINT, category BIGINT, event_time BIGINT"
TIMED = ", moment AS TO_TIMESTAMP_LTZ(event_time, 3), WATERMARK FOR moment AS moment - INTERVAL '5' MINUTE"

# By workload: columns of its streams (none where a message is a line), columns and key of its output, and the query.
WORKLOADS = {
    "lines": (
        [""],
        "word STRING, n BIGINT",
        "word",
        "SELECT word, COUNT(*) FROM s0 CROSS JOIN UNNEST(SPLIT(line, ' ')) AS t (word) GROUP BY word",
    ),
    "split": (
        [""],
        "word STRING, n BIGINT",
        "word",
        "SELECT word, COUNT(*) FROM s0, LATERAL TABLE(cut(line)) AS t (word) GROUP BY word",
    ),
    "grep": ([""], "line STRING", "", "SELECT line FROM s0 WHERE line LIKE '%ab%'"),
    "ads": (
        [ADS],
        "campaign_id STRING, window_start BIGINT, n BIGINT",
        "campaign_id, window_start",
        "SELECT /*+ STATE_TTL('v' = '60s', 'c' = '0s') */ c.campaign_id, v.event_time - MOD(v.event_time, 10000), "
        "COUNT(*) FROM (SELECT ad_id, event_time FROM s0 WHERE event_type = 'view') v JOIN campaigns c "
        "ON v.ad_id = c.ad_id GROUP BY c.campaign_id, v.event_time - MOD(v.event_time, 10000)",
    ),
    "averages": (
        [SESSIONS],
        "geo STRING, window_start BIGINT, session_time DOUBLE, n BIGINT",
        "geo, window_start",
        "SELECT geo, w, AVG(session_time), COUNT(*) FROM s0 CROSS JOIN UNNEST(ARRAY["
        "event_time - MOD(event_time, 4000), event_time - MOD(event_time, 4000) - 4000]) AS t (w) GROUP BY geo, w",
    ),
    "pairs": (
        [LEFT + TIMED, RIGHT + TIMED],
        "session BIGINT, ad BIGINT, longer DOUBLE, difference DOUBLE",
        "",
        "SELECT l.session, r.ad, GREATEST(l.session_time, r.watch_time), ABS(l.session_time - r.watch_time) "
        "FROM s0 l JOIN s1 r ON l.geo = r.geo AND l.visitor = r.visitor "
        "AND r.moment BETWEEN l.moment - INTERVAL '8' SECOND AND l.moment + INTERVAL '8' SECOND",
    ),
    "q1": (
        [BIDS],
        "bid BIGINT, auction BIGINT, bidder BIGINT, euros DOUBLE",
        "",
        "SELECT bid, auction, bidder, CAST(price * 908 AS DOUBLE) / 1000 FROM s0",
    ),
    "q2": (
        [BIDS],
        "bid BIGINT, auction BIGINT, price BIGINT",
        "",
        "SELECT bid, auction, price FROM s0 WHERE MOD(auction, 123) = 0",
    ),
    "q5": (
        [BIDS],
        "auction BIGINT, window_start BIGINT, n BIGINT",
        "auction, window_start",
        "SELECT auction, w - back, COUNT(*) FROM (SELECT auction, event_time - MOD(event_time, 2000) AS w FROM s0) "
        "CROSS JOIN UNNEST(ARRAY[0, 2000, 4000, 6000, 8000]) AS t (back) GROUP BY auction, w - back",
    ),
    "q7": (
        [BIDS],
        "window_start BIGINT, price BIGINT, n BIGINT",
        "window_start",
        "SELECT w, MAX(price), COUNT(*) FROM (SELECT event_time - MOD(event_time, 10000) AS w, price FROM s0) "
        "GROUP BY w",
    ),
    "q8": (
        [PERSONS + TIMED, AUCTIONS + TIMED],
        "person BIGINT, name STRING, auction BIGINT",
        "",
        "SELECT l.person, l.name, r.auction FROM s0 l JOIN s1 r ON l.person = r.seller "
        "AND l.event_time - MOD(l.event_time, 10000) = r.event_time - MOD(r.event_time, 10000) "
        "AND r.moment BETWEEN l.moment - INTERVAL '10' SECOND AND l.moment + INTERVAL '10' SECOND",
    ),
}


@udtf(result_types=[DataTypes.STRING()])  # type: ignore[untyped-decorator]
def cut(line: str) -> Iterator[str]:
    """The words of a line."""
    yield from line.split(" ")


def main() -> None:
    """Run until killed."""
    *asked, jars, api = sys.argv[1:]
    configuration = Configuration()
    for setting, value in SETTINGS.items():
        configuration.set_string(setting, value)
    configuration.set_string("pipeline.jars", ";".join(f"file://{jar}" for jar in jars.split(",")))
    for setting in ("python.executable", "python.client.executable"):
        configuration.set_string(setting, sys.executable)
    if api == "sql":
        sql(configuration, *asked)
    else:
        words(configuration, *asked)


def sql(configuration: Configuration, *asked: str) -> None:
    """A workload as a query."""
    bootstrap, sources, output, name, workload, folder = asked
    settings = EnvironmentSettings.new_instance().in_streaming_mode().with_configuration(configuration).build()
    table = TableEnvironment.create(settings)
    streams, columns, key, query = WORKLOADS[workload]
    for number, (topic, of) in enumerate(zip(sources.split(","), streams, strict=True)):
        options = {
            "connector": "kafka",
            "topic": topic,
            "properties.bootstrap.servers": bootstrap,
            "properties.group.id": name,
            "properties.isolation.level": "read_committed",
            "properties.fetch.max.wait.ms": "5",
            "scan.startup.mode": "earliest-offset",
            "format": "json" if of else "raw",
        }
        table.execute_sql(f"CREATE TABLE s{number} ({of or 'line STRING'}) WITH ({_listed(options)})")
    if workload == "ads":
        rows = json.loads((Path(folder) / "campaigns.json").read_text())
        campaigns = table.from_elements([tuple(row) for row in rows], ["ad_id", "campaign_id"])
        table.create_temporary_view("campaigns", campaigns)
    if workload == "split":
        table.create_temporary_function("cut", cut)
    told = {
        "topic": output,
        "properties.bootstrap.servers": bootstrap,
        "properties.linger.ms": "1",
        "properties.compression.type": "lz4",
    }
    if key:
        told |= {"connector": "upsert-kafka", "key.format": "json", "value.format": "json"}
        columns += f", PRIMARY KEY ({key}) NOT ENFORCED"
    else:
        told |= {"connector": "kafka", "format": "json"}
    table.execute_sql(f"CREATE TABLE told ({columns}) WITH ({_listed(told)})")
    table.execute_sql(f"INSERT INTO told {query}").wait()


def words(configuration: Configuration, *asked: str) -> None:
    """Word count, each operator a Python function."""
    bootstrap, source, output, name, _, _ = asked
    environment = StreamExecutionEnvironment.get_execution_environment(configuration)
    read = (
        KafkaSource.builder()
        .set_bootstrap_servers(bootstrap)
        .set_topics(source)
        .set_group_id(name)
        .set_starting_offsets(KafkaOffsetsInitializer.earliest())
        .set_value_only_deserializer(SimpleStringSchema())
        .set_property("isolation.level", "read_committed")
        .set_property("fetch.max.wait.ms", "5")
        .build()
    )
    lines = environment.from_source(read, WatermarkStrategy.no_watermarks(), "lines")
    split = lines.flat_map(lambda line: line.split(" "), Types.STRING())
    counted = split.key_by(lambda word: word, Types.STRING()).process(Counted(), Types.STRING())
    written = (
        KafkaRecordSerializationSchema.builder()
        .set_topic(output)
        .set_value_serialization_schema(SimpleStringSchema())
        .build()
    )
    sink = (
        KafkaSink.builder()
        .set_bootstrap_servers(bootstrap)
        .set_record_serializer(written)
        .set_property("linger.ms", "1")
        .set_property("compression.type", "lz4")
        .build()
    )
    counted.sink_to(sink)
    environment.execute(name)


class Counted(KeyedProcessFunction):  # type: ignore[misc]
    """How often each word has come."""

    def open(self, context: RuntimeContext) -> None:
        """Its state."""
        self._seen = context.get_state(ValueStateDescriptor("seen", Types.LONG()))

    def process_element(self, word: str, _: Any) -> Iterator[str]:
        """One more."""
        n = (self._seen.value() or 0) + 1
        self._seen.update(n)
        yield json.dumps({"word": word, "n": n})


def _listed(options: dict[str, str]) -> str:
    return ", ".join(f"'{name}' = '{value}'" for name, value in options.items())


if __name__ == "__main__":
    main()
