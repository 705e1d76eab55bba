"""The errors of sending a release to an archive."""

from common.errors import QuorumError


class PublishingError(QuorumError):
    """Raised if the archive refuses the release, or the release must not be published."""

    title = "It is not published"
