"""What `spillway bench` does: one run, a search for the sustainable throughput, a comparison, a report.

    traces      loads by name
    single      one run of one system
    sustained   Algorithm 1 of the benchmark paper, the slope of the queue, the search: pure
    searching   the same with real systems
    waiting     what waits, as results or a driver tell
    columns     records made of nothing but the columns of a stream
    comparing   systems against one another, after an A/A run
    own         a user's own job, on this machine or where it runs already
    wanted      the figures that the project wants to reach
    report      one page of all that some folders hold

Runs are those of `dual.courses`; what is kept of them is what `dual.keeping` keeps.
"""
