"""Pure decisions: what was measured or written goes in, what should be comes out, with the reason."""
