"""Errors of the statistics. An undefined statistic is no error: it is nan, with a reason."""


class StatisticsError(ValueError):
    """Base of the errors about arguments."""


class BadShape(StatisticsError):
    """An array of a wrong shape, or arrays of different lengths."""


class BadValue(StatisticsError):
    """A value that the statistic cannot take."""


class BadOption(StatisticsError):
    """An unknown option."""


class DuplicateJudgment(StatisticsError):
    """A second judgment of a unit by one worker."""
