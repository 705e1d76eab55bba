"""Rows of annotation in the admin. `pages` loads all pages."""
