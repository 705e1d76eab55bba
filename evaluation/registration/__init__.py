"""Registered plans: fixed before a study opens, later compared with it (docs/registration.md)."""
