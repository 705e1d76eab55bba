"""The rows behind what is asked."""

from judgments.models.jobs import Job

__all__ = ["Job"]
