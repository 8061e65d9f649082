"""The embedded backend: Java and jars, a real broker, and worker processes on this machine."""
