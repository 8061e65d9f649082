"""The same jobs for Spark Structured Streaming: a program of its own that imports nothing of ours."""
