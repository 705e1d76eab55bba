"""The dashboard: the live page of a study."""
