"""Calls over HTTP to what others run: one client with its limits, and the addresses that it may reach."""
