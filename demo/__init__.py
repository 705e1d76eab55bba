"""The demo: photographs with free licences, two systems, and the studies that `make run` loads."""
