"""The demo: photographs that may be passed on, two systems, and the studies that `make run` loads."""
