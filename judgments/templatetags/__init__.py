"""Filters for the admin's pages."""
