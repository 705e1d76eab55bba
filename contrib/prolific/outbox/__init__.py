"""Carry out outbox messages at Prolific."""
