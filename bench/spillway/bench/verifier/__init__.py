"""An independent judge of a running job: what should have come out, by a third implementation, and what did.

    records        what is read of topics
    decoding       messages to rows and back, after docs/explanation/programs.md; nothing of the job's own codecs
    relations      rows with all that is known of them: where from, in which order, how sure
    translation    one expression as SQL of DuckDB, and which expressions can't be
    engine         expressions over many rows at once, in DuckDB
    needs          which columns somebody reads: only those can raise
    steps          filter, select, explode, python
    aggregates     GROUP BY, also by windows
    joins          streams with streams, streams with tables, tables with tables
    expectation    a job and its inputs -> what each output has to hold
    judging        expected and found messages -> lost, duplicated, reordered, wrong
    verdict        what is reported
    report         how it is shown
    topics         the broker: everything before this line is pure
    command        `python -m spillway.bench.verifier`

What depends on the order in which records of different partitions arrive is not determined, and nothing is ever called
wrong for that: a row may be a *maybe*, a column *unsure*, a double right within a *slack*. The report counts them.
The grammar of expressions is read by the job's own parser, which tests hold to Spark's; what they mean, by DuckDB.
"""
