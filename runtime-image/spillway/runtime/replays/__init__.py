"""Dead letters, seen to: what is open, which can be put back, and how.

- `ledger`: what the topic of dead letters says, and groups of letters that have the same error;
- `routes`: where a letter goes back to, or why it can't;
- `works`: runs letters again, from the operator that failed;
- `desk`: reads and writes the topic.
"""
