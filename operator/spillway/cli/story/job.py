"""The job of the demonstration: word count over long lines.

An operator that makes many rows of one record, in front of one that counts by key: record by record each word is a row
on the edge and an update of a table; a batch adds up first, and sends one row for each word that it has met. Whether
that is faster here, and by how much, is measured while it runs.
"""

from __future__ import annotations

import yaml

from spillway.controllers import acceptance
from spillway.local.edits import Edit, Refusal

TOPIC = "lines"
HEAD = "words"  # the segment that may run in either paradigm
MANIFEST = """\
apiVersion: spillway.dev/v1alpha1
kind: StreamJob
metadata: {name: demo}
spec:
  kafka: {bootstrapServers: ["localhost:9092"]}
  latency: {bound: 500ms, quantile: 0.99}
  streams:
    - {name: lines, topic: lines, format: raw, columns: "line string"}
  operators:
    - {name: words, input: lines, explode: {array: "split(lower(line), ' ')", as: word, keep: []}}
    - {name: real-words, input: words, filter: "word <> ''"}
    - {name: counts, input: real-words, aggregate: {by: [word], values: ["count(*) as occurrences"]}}
  outputs:
    - {name: result, input: counts, topic: word-counts}
"""


def version() -> Edit:
    """The only version that there is."""
    document = yaml.safe_load(MANIFEST)
    accepted = acceptance.accept(document)
    if accepted.job is None:
        raise ValueError(accepted.message)
    return Edit(accepted.job, document, None)


class Unchanging:
    """A source of edits that has none."""

    def look(self) -> Edit | Refusal | None:
        """Nothing new."""
        return None
