"""What a StreamJob should be on a cluster: which children, how many workers, which conditions; pure decisions.

| module | what |
|---|---|
| `names` | what the children of a job are called, and how they are marked |
| `observed` | what was seen of a job, as values |
| `troubles` | what pods and their sets say is wrong |
| `resizing` | from the driver's need to replicas and a grant |
| `statements` | the conditions |
| `children` | which children are to be applied, deleted, or left alone because they are somebody else's |
| `decision` | all of it together: `decide(observed, memory, now)` |
"""
