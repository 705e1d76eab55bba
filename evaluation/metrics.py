"""The older name of `quorum.metrics`."""

from quorum.metrics import *  # noqa: F403
