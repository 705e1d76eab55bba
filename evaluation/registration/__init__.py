"""Registered plans: fixed before a study opens, compared afterwards with what was done (docs/registration.md)."""
