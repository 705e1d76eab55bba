"""Webhooks: signed messages to other programs about events in a study."""
