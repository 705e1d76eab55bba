"""The older name of `quorum.statistics.aggregation`."""

from quorum.statistics.aggregation import *  # noqa: F403
