"""Carry out the calls of the outbox at Prolific. Each module has the functions for some kinds of calls."""
