"""The settings of a broker that is alone, on a laptop, and often started; everything else is Kafka's default."""

from collections.abc import Mapping
from pathlib import Path

from spillway.local import ports

NODE = 1  # the only node of each of our clusters

MIB = 1024 * 1024

ALONE: Mapping[str, str] = {
    # A misspelt topic has to be an error here, as it is in production.
    "auto.create.topics.enable": "false",
    # There is nobody to replicate to. The defaults ask for three, and then nothing that commits works.
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    # Defaults of 50: each is a directory with open files, made when the first group or transaction comes.
    "offsets.topic.num.partitions": "4",
    "transaction.state.log.num.partitions": "4",
    "share.coordinator.state.topic.num.partitions": "4",
    # Waits for more members before a group's first assignment: 3 s by default, for which every test would wait.
    "group.initial.rebalance.delay.ms": "0",
    # How often transactions of dead producers are looked for. At the default of 10 s, a reader of committed records
    # waits up to that much longer than the transaction's own timeout.
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
    # Space is only freed by whole segments; with the default of 1 GiB a demo of an hour frees none.
    "log.segment.bytes": str(64 * MIB),
    # The log cleaner takes this much of the heap at the start; the default of 128 MiB would be half of ours.
    "log.cleaner.dedupe.buffer.size": str(8 * MIB),
    # After a crash the controller refuses the new broker until the session of the dead one is over: a restart took 11 s
    # with the default of 9 s, and nobody else is there to take over meanwhile.
    "broker.session.timeout.ms": "2000",
    "broker.heartbeat.interval.ms": "500",
    "num.network.threads": "2",
    "num.io.threads": "4",
}


def of_node(port: int, controller_port: int, data: Path, own: Mapping[str, str]) -> dict[str, str]:
    """All settings of a broker that is its own controller; `own` wins over `ALONE`."""
    broker, controller = f"{ports.LOOPBACK}:{port}", f"{ports.LOOPBACK}:{controller_port}"
    return {
        **ALONE,
        **own,
        "process.roles": "broker,controller",
        "node.id": str(NODE),
        # A static quorum: its address may differ from start to start, where a dynamic one stores it in the data.
        "controller.quorum.voters": f"{NODE}@{controller}",
        "listeners": f"PLAINTEXT://{broker},CONTROLLER://{controller}",
        "advertised.listeners": f"PLAINTEXT://{broker}",
        "controller.listener.names": "CONTROLLER",
        "log.dirs": str(data),
    }


def write(settings: Mapping[str, str], file: Path) -> None:
    """Write a properties file, in which a backslash would start an escape."""
    lines = [f"{name}={value}\n".replace("\\", "\\\\") for name, value in settings.items()]
    file.write_text("".join(lines), encoding="utf-8")
