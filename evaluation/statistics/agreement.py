"""The older name of `quorum.statistics.agreement`."""

from quorum.statistics.agreement import *  # noqa: F403
