"""Declare what the feature “archives” adds to the platform. ``Feature`` explains the attributes."""

from typing import Any

from common.environment import Environment
from config.features import Feature
from judgments.jobs.registry import HEAVY, JobKind


class ArchivesConfig(Feature):
    name = "contrib.archives"
    questions = ("Zenodo", "Hugging Face", "DOI")
    pages = ("contrib.archives.views",)
    calls = "contrib.archives.calls"
    commands = {
        "Results": {
            "publish": (
                "publish_release",
                "a release goes to Zenodo or Hugging Face",
                "contrib.archives.management.PublishRelease",
            )
        }
    }
    enums = {"ArchivePlace": "contrib.archives.models.Deposit.Archive"}
    integrity_checks = ("contrib.archives.integrity.find_deposit_problems",)
    jobs = {
        "publish_release": JobKind("contrib.archives.handlers.deposit_release", HEAVY, scope="exports"),
    }

    @classmethod
    def settings(cls, env: Environment) -> dict[str, Any]:
        return {
            "ZENODO_URL": env.str("ZENODO_URL", default="https://zenodo.org"),
            "ZENODO_TOKEN": env.str("ZENODO_TOKEN", default=""),
            "ZENODO_SANDBOX_URL": env.str("ZENODO_SANDBOX_URL", default="https://sandbox.zenodo.org"),
            "ZENODO_SANDBOX_TOKEN": env.str("ZENODO_SANDBOX_TOKEN", default=""),
            "HUGGINGFACE_URL": env.str("HUGGINGFACE_URL", default="https://huggingface.co"),
            "HUGGINGFACE_TOKEN": env.str("HUGGINGFACE_TOKEN", default=""),
            "PUBLISHING_BACKOFF_SECONDS": env.float("PUBLISHING_BACKOFF_SECONDS", default=1.0),
            # Seconds until an archive lists a record that was created by a call without a response.
            "PUBLISHING_SETTLE_SECONDS": env.float("PUBLISHING_SETTLE_SECONDS", default=60.0),
        }
