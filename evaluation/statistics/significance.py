"""The older name of `quorum.statistics.significance`."""

from quorum.statistics.significance import *  # noqa: F403
