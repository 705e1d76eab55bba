"""The older name of `quorum.statistics.ranking`."""

from quorum.statistics.ranking import *  # noqa: F403
