"""Word count, grep and the Yahoo benchmark with Spark Structured Streaming, from Kafka to Kafka.

    python structured.py BOOTSTRAP SOURCE OUTPUT WORKLOAD FOLDER TRIGGER JARS

TRIGGER is `fastest`, or an interval such as `1 second`. FOLDER is one that it may use, in memory, with
`campaigns.json` in it; JARS are those of the Kafka connector, with commas between.

Chosen beyond the defaults, because each makes it faster: two shuffle partitions for two cores; no adaptive plans, which
a stream of small batches pays for and doesn't need; a checkpoint manager that starts no processes, without checksums,
and a checkpoint in memory; sockets of the file system to Python workers; no empty batches; 1 ms between two looks for
records; and what Kafka's clients can be told. Functions of the user are called as plain Python UDFs, which is faster
for lists than through Arrow, the default. Where there is no state, progress is stored beside the batches.
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
ADS = "ad_id string, event_type string, event_time long"
PATTERN = "%ab%"
WINDOW = 10_000


def lines(stream: DataFrame, _: Any) -> DataFrame:
    """A running count of each word, in SQL alone."""
    words = stream.select(f.explode(f.split("line", " ")).alias("word"))
    return words.groupBy("word").agg(f.count("*").alias("n"))


def split(stream: DataFrame, _: Any) -> DataFrame:
    """The same, with a function of the user."""

    def cut(line: str) -> list[str]:
        return line.split(" ")

    cutting = f.udf(cut, t.ArrayType(t.StringType()), useArrow=False)
    words = stream.select(f.explode(cutting("line")).alias("word"))
    return words.groupBy("word").agg(f.count("*").alias("n"))


def grep(stream: DataFrame, _: Any) -> DataFrame:
    """Lines with a pattern."""
    return stream.where(f.col("line").like(PATTERN))


def ads(stream: DataFrame, campaigns: Any) -> DataFrame:
    """Views by campaign in windows of ten seconds; the table is in every task."""
    records = stream.select(f.from_json("line", ADS).alias("record")).select("record.*")
    views = records.where("event_type = 'view'").select("ad_id", "event_time")
    joined = views.join(f.broadcast(campaigns), "ad_id")
    window = (f.col("event_time") - f.col("event_time") % WINDOW).alias("window_start")
    counted = joined.groupBy("campaign_id", window)
    return counted.agg(f.count("*").alias("n"), f.max("event_time").alias("due"))


def main() -> None:
    """Run until killed."""
    bootstrap, source, output, workload, folder, trigger, jars = sys.argv[1:]
    builder = SparkSession.builder.master("local[2]").appName("structured").config("spark.jars", jars)
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    table = json.loads((Path(folder) / "campaigns.json").read_text())
    campaigns = spark.createDataFrame(table, "ad_id string, campaign_id string").cache()
    stream = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", bootstrap)
        .option("subscribe", source)
        .option("startingOffsets", "earliest")
        .option("kafka.isolation.level", "read_committed")
        .option("kafka.fetch.max.wait.ms", "5")
        .load()
        .select(f.col("value").cast("string").alias("line"))
    )
    made = {"lines": lines, "split": split, "grep": grep, "ads": ads}[workload](stream, campaigns)
    writer = (
        made.select(f.to_json(f.struct("*")).alias("value"))
        .writeStream.format("kafka")
        .option("kafka.bootstrap.servers", bootstrap)
        .option("topic", output)
        .option("kafka.compression.type", "lz4")
        .option("kafka.batch.size", "262144")
        .option("checkpointLocation", f"file://{folder}/checkpoint")
        .outputMode("append" if workload == "grep" else "update")
    )
    if workload == "grep":
        writer = writer.option("asyncProgressTrackingEnabled", "true")
    writer = writer.trigger(processingTime="0 seconds" if trigger == "fastest" else trigger)
    writer.start().awaitTermination()


if __name__ == "__main__":
    main()
