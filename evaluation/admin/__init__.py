"""The read-only lists of results in the admin."""
