"""The SQL subset: parse, check names and types, compile to Python source. Pure; no engine."""
