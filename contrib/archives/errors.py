"""Errors of sending a release to an archive."""

from common.errors import QuorumError


class PublishingError(QuorumError):
    """An archive refuses the release, or it must not be shared."""

    title = "It is not published"
