"""What runs inside a job: programs, frames, Kafka I/O, state, worker, batch engine, driver."""
