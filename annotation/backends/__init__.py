"""The crowds that this version can publish to."""

from annotation.backends.base import CrowdBackend
from annotation.backends.local import LocalBackend

BACKENDS: dict[str, CrowdBackend] = {backend.name: backend for backend in (LocalBackend(),)}

__all__ = ["BACKENDS", "CrowdBackend"]
