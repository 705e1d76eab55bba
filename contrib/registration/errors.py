"""The error of a registration."""

from common.errors import QuorumError


class RegistrationError(QuorumError):
    title = "The registration is not possible"
