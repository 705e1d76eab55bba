"""Carry out outbox messages at Prolific. Each module has the functions for some kinds of messages."""
