"""Errors of sending a release to an archive."""

from common.errors import QuorumError


class PublishingError(QuorumError):
    """The archive refuses the release, or the release must not be shared."""

    title = "It is not published"
