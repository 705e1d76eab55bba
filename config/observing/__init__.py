"""Logs, metrics and health probes of a running installation."""
