"""Webhooks: signed messages to other programs about what happens in a study."""
