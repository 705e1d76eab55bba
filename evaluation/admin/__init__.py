"""Rows of results in the admin. `pages` loads all pages."""
