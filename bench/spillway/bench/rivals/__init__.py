"""Other policies, for comparison only: each as its authors describe it, and at its best.

- `threshold`: one slot more or less when utilisation leaves a range;
- `stela`: congested segments, those with the most effective throughput behind them first;
- `flink`: the autoscaler of Flink's operator for Kubernetes;
- `keda`: KEDA's scaler for Kafka, and the horizontal pod autoscaler behind it.

They see what Spillway sees. None of them knows of batches or of a promise, so segments stay record by record.
"""
