"""HTTP calls to external services: a client with limits, and the addresses that may be called."""
