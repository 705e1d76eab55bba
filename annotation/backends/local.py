"""The browser: workers come by the study's link and are let in by the study's state alone."""

from __future__ import annotations

from annotation.backends.base import CrowdBackend
from judgments.crowds import CROWDS
from judgments.models import Study


class LocalBackend(CrowdBackend):
    """Nothing is published anywhere else, and nothing can be asked of anybody."""

    name = "local"
    title = "this site"
    requirements = CROWDS["local"].requirements
    sends_people = False

    def where(self, study: Study) -> str:
        """The study's link."""
        return f"Workers join at /s/{study.slug}/ on this server."
