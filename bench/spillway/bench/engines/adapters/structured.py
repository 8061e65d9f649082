"""Workloads with Spark Structured Streaming, from Kafka to Kafka.

    python structured.py BOOTSTRAP SOURCES OUTPUT NAME WORKLOAD FOLDER TRIGGER JARS

TRIGGER is `fastest`, an interval such as `1 second`, or `plain`: as fast as it can, and nothing set at all. FOLDER is
one that it may use, in memory, with `campaigns.json` in it; JARS are those of the Kafka connector, with commas between.

Chosen beyond the defaults, because each makes it faster: two shuffle partitions for two cores; no adaptive plans, which
a stream of small batches pays for and doesn't need; a checkpoint manager that starts no processes, without checksums,
and a checkpoint in memory; sockets of the file system to Python workers; no empty batches; 1 ms between two looks for
records; and what Kafka's clients can be told. Functions of the user are called as plain Python UDFs, which is faster
for lists than through Arrow, the default. Where there is no state, progress is stored beside the batches.

Windows and joins have a watermark, so that state goes at all; five minutes, so that nothing is dropped as late while a
partition is read after the others. A windowed aggregation tells of every batch (update mode): with append mode it would
tell when the watermark has passed, five minutes later.
"""

import json
import sys
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql import types as t

MANAGER = "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
SETTINGS = {
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.streaming.checkpointFileManagerClass": MANAGER,
    "spark.sql.streaming.checkpoint.fileChecksum.enabled": "false",
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
    "spark.sql.streaming.pollingDelay": "1",
    "spark.sql.session.timeZone": "UTC",
    "spark.python.unix.domain.socket.enabled": "true",
    "spark.driver.memory": "2g",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
NEEDED = ("spark.sql.session.timeZone", "spark.driver.host", "spark.driver.bindAddress", "spark.ui.enabled")
ADS = "ad_id string, event_type string, event_time long"
SESSIONS = "geo string, session_time double, event_time long"
LEFT = "session long, geo string, visitor long, session_time double, event_time long"
RIGHT = "ad long, geo string, visitor long, watch_time double, event_time long"
BIDS = "bid long, auction long, bidder long, price long, channel string, event_time long"
PERSONS = "person long, name string, event_time long"
AUCTIONS = "auction long, seller long, category long, event_time long"
PATTERN = "%ab%"
WINDOW = 10_000
LATE = "5 minutes"


def lines(streams: list[DataFrame], _: Any) -> DataFrame:
    """A running count of each word, in SQL alone."""
    words = streams[0].select(f.explode(f.split("line", " ")).alias("word"))
    return words.groupBy("word").agg(f.count("*").alias("n"))


def split(streams: list[DataFrame], _: Any) -> DataFrame:
    """The same, with a function of the user."""

    def cut(line: str) -> list[str]:
        return line.split(" ")

    cutting = f.udf(cut, t.ArrayType(t.StringType()), useArrow=False)
    words = streams[0].select(f.explode(cutting("line")).alias("word"))
    return words.groupBy("word").agg(f.count("*").alias("n"))


def grep(streams: list[DataFrame], _: Any) -> DataFrame:
    """Lines with a pattern."""
    return streams[0].where(f.col("line").like(PATTERN))


def ads(streams: list[DataFrame], campaigns: Any) -> DataFrame:
    """Views by campaign in windows of ten seconds; the table is in every task."""
    records = read(streams[0], ADS)
    views = records.where("event_type = 'view'").select("ad_id", "event_time")
    joined = views.join(f.broadcast(campaigns), "ad_id")
    window = (f.col("event_time") - f.col("event_time") % WINDOW).alias("window_start")
    counted = joined.groupBy("campaign_id", window)
    return counted.agg(f.count("*").alias("n"), f.max("event_time").alias("due"))


def averages(streams: list[DataFrame], _: Any) -> DataFrame:
    """The mean session time by place, in sliding windows."""
    groups = timed(streams[0], SESSIONS).groupBy("geo", f.window("at", "8 seconds", "4 seconds").alias("window"))
    found = groups.agg(f.avg("session_time").alias("session_time"), f.count("*").alias("n"))
    return found.select("geo", started(), "session_time", "n")


def pairs(streams: list[DataFrame], _: Any) -> DataFrame:
    """Sessions and ads of the same visitors, at most eight seconds apart."""
    left, right = timed(streams[0], LEFT).alias("l"), timed(streams[1], RIGHT).alias("r")
    same = "l.geo = r.geo and l.visitor = r.visitor"
    near = "r.at between l.at - interval 8 seconds and l.at + interval 8 seconds"
    return left.join(right, f.expr(f"{same} and {near}")).select(
        "session",
        "ad",
        f.greatest("session_time", "watch_time").alias("longer"),
        f.abs(f.col("session_time") - f.col("watch_time")).alias("difference"),
    )


def q1(streams: list[DataFrame], _: Any) -> DataFrame:
    """Prices in another currency."""
    return read(streams[0], BIDS).selectExpr("bid", "auction", "bidder", "price * 908 / 1000 as euros")


def q2(streams: list[DataFrame], _: Any) -> DataFrame:
    """Bids for one auction in 123."""
    return read(streams[0], BIDS).where("auction % 123 = 0").select("bid", "auction", "price")


def q5(streams: list[DataFrame], _: Any) -> DataFrame:
    """Bids by auction, in windows of ten seconds every two."""
    groups = timed(streams[0], BIDS).groupBy("auction", f.window("at", "10 seconds", "2 seconds").alias("window"))
    return groups.agg(f.count("*").alias("n")).select("auction", started(), "n")


def q7(streams: list[DataFrame], _: Any) -> DataFrame:
    """The highest bid in windows of ten seconds."""
    groups = timed(streams[0], BIDS).groupBy(f.window("at", "10 seconds").alias("window"))
    return groups.agg(f.max("price").alias("price"), f.count("*").alias("n")).select(started(), "price", "n")


def q8(streams: list[DataFrame], _: Any) -> DataFrame:
    """New persons with auctions in the same window of ten seconds."""
    came = timed(streams[0], PERSONS).select("person", "name", f.window("at", "10 seconds").alias("ten"))
    opened = timed(streams[1], AUCTIONS).select(
        f.col("seller").alias("person"), "auction", f.window("at", "10 seconds").alias("ten")
    )
    return came.join(opened, ["person", "ten"]).select("person", "name", "auction")


def read(stream: DataFrame, columns: str) -> DataFrame:
    """Records of JSON."""
    return stream.select(f.from_json("line", columns).alias("record")).select("record.*")


def timed(stream: DataFrame, columns: str) -> DataFrame:
    """The same, with event time as Spark has it."""
    return read(stream, columns).withColumn("at", f.timestamp_millis("event_time")).withWatermark("at", LATE)


def started() -> Any:
    """When a window begins, in milliseconds."""
    return f.unix_millis(f.col("window.start")).alias("window_start")


WORKLOADS = {
    "lines": lines,
    "split": split,
    "grep": grep,
    "ads": ads,
    "averages": averages,
    "pairs": pairs,
    "q1": q1,
    "q2": q2,
    "q5": q5,
    "q7": q7,
    "q8": q8,
}
STATELESS = ("grep", "q1", "q2")
APPENDED = (*STATELESS, "pairs", "q8")


def main() -> None:
    """Run until killed."""
    bootstrap, sources, output, _, workload, folder, trigger, jars = sys.argv[1:]
    plain = trigger == "plain"
    builder = SparkSession.builder.master("local[2]").appName("structured").config("spark.jars", jars)
    for name, value in SETTINGS.items():
        if not plain or name in NEEDED:
            builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    table = json.loads((Path(folder) / "campaigns.json").read_text())
    campaigns = spark.createDataFrame(table, "ad_id string, campaign_id string").cache()

    def stream(topic: str) -> DataFrame:
        reader = (
            spark.readStream.format("kafka")
            .option("kafka.bootstrap.servers", bootstrap)
            .option("subscribe", topic)
            .option("startingOffsets", "earliest")
            .option("kafka.isolation.level", "read_committed")
        )
        if not plain:
            reader = reader.option("kafka.fetch.max.wait.ms", "5")
        return reader.load().select(f.col("value").cast("string").alias("line"))

    made = WORKLOADS[workload]([stream(topic) for topic in sources.split(",")], campaigns)
    writer = (
        made.select(f.to_json(f.struct("*")).alias("value"))
        .writeStream.format("kafka")
        .option("kafka.bootstrap.servers", bootstrap)
        .option("topic", output)
        .option("checkpointLocation", f"file://{folder}/checkpoint")
        .outputMode("append" if workload in APPENDED else "update")
    )
    if not plain:
        writer = writer.option("kafka.compression.type", "lz4").option("kafka.batch.size", "262144")
        if workload in STATELESS:
            writer = writer.option("asyncProgressTrackingEnabled", "true")
        writer = writer.trigger(processingTime="0 seconds" if trigger == "fastest" else trigger)
    writer.start().awaitTermination()


if __name__ == "__main__":
    main()
