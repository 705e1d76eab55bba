"""What a crowd does for a study. The services know only this; a crowd is one module."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from judgments.models import Study


class CrowdBackend(ABC):
    """Where a study's workers come from.

    Attributes:
        name: as in the study file.
        requirements: those of ``judgments.requirements`` that it can state to its workers, or that are checked here.
    """

    name: ClassVar[str]
    requirements: ClassVar[frozenset[str]]

    @abstractmethod
    def publish(self, study: Study) -> str:
        """Let workers in; returns one sentence that says where they go. Publishing twice changes nothing."""

    @abstractmethod
    def expire(self, study: Study) -> None:
        """Offer no more work. Who holds a HIT may finish it. Expiring twice changes nothing."""
