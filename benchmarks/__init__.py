"""Benchmarks against other programs, which no test depends on."""
