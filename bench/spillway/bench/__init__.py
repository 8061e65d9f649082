"""Workloads, load driver, verifier and peers: how Spillway is measured."""
