"""The error that registrations raise."""

from common.errors import QuorumError


class RegistrationError(QuorumError):
    title = "The registration is not possible"
