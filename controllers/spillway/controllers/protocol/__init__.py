"""Who owns which partition, and how that changes without a record being lost or applied twice.

Section 4.4 of the paper on dual paradigms (`DO`): prepare - switch - run. A resize, a switch of the paradigm, a change
of the program and a takeover of what is dead are the same thing here. The page `docs/explanation/moves.md` explains it.

Everything is a pure state machine: it is told what happened, and returns its new state with the `effects` that it asks
for. There is no clock (what takes too long is told), no I/O, and nothing that isn't a value.

- `values`, `messages`, `wire`: what is spoken of, the messages of the control log, and how they are written;
- `log`: what the log says, the fold of its messages in order;
- `owner`: one partition in the hands of its owner; `slot`: one life of a worker with its partitions;
- `engine`: the batch engine, an owner that works in intents;
- `knowledge`, `takeover`, `leader`: what a driver knows, and what is due;
- `reader`: what the reader of an edge makes of a frame;
- `rules`: the rules by name, so that tests can take one out.

How a worker drives it. It starts with an incarnation of its own: it appends `Join`, and reads the log (`log.restored`)
up to that message; `slot.joined` is then its slot. It initialises its transactional id, which is made of slot and
incarnation, once: before it owns anything, and never again in that life, because that would undo a fence. For each
message it calls `log.read`, then `slot.hear` with whether the message counted. Before that its loop tells
`owner.processed` where it is (by `slot.told`), at a record boundary. It carries out the effects in their order, tells
what the broker acknowledged and committed, and calls `owner.due` once or twice a second. A commit that is refused for
good is `slot.fenced`.

How a driver drives it. It reads the log to its end, and calls `leader.lead`. For each message it calls `knowledge.read`
and, once it leads, hands the same to its `engine` (of `engine.of(me.asked)`). After that, and after whatever it is told
otherwise (`want`, `silent`, `heard`, `fenced`, `committed`, `late`), it calls `leader.due` and carries out the effects.
It starts a timer with each `Prepare` and `Release` that it appends, and tells `late` when it runs out. It ends when it
is `deposed` or its engine is fenced. For a batch it calls `engine.propose`, runs what `Run` says, and tells `ran`.

How a reader drives it. For each frame it calls `reader.read`, applies what the verdict says, and keeps `seen` in the
transaction that its table is committed with.

Whoever deletes frames of an edge leaves those that their reader hasn't stored, and those that the owner of their input
partition hasn't committed: an heir has to find how far its predecessors have emitted.
"""
