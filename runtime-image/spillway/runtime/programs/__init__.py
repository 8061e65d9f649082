"""From operators to one generated loop.

programs = cutting.cut(job.spec, {"views": ("views", "fields", "joined"), "counts": ("counts",)}, digests)
loop = compiler.Loop(programs[0], functions)          # once for each program; `loop.source` is to be read
running = loop.bind(states, {"counts": 8})            # once for each partition of its input
running.run["events"](messages)                       # rows are in running.edges and running.outputs
"""
