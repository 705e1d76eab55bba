"""The browser: workers come by the study's link and are let in by the study's state alone."""

from __future__ import annotations

from annotation.backends.base import CrowdBackend
from judgments.models import Study
from judgments.requirements import CROWDS


class LocalBackend(CrowdBackend):
    """Nothing is published anywhere else."""

    name = "local"
    requirements = CROWDS["local"]

    def publish(self, study: Study) -> str:
        """Where the study's link is."""
        return f"Workers join at /s/{study.slug}/ on this server."

    def expire(self, study: Study) -> None:
        """The study's state already keeps workers from taking more."""
