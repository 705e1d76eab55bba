"""Rows and helpers of the designer's pages. `pages` loads all pages."""
