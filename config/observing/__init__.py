"""Logs, figures and probes of a running installation."""
