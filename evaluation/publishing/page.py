"""The step of the page Releases that publishes a release."""

from __future__ import annotations

from evaluation.publishing.operations import publish_release
from judgments.admin.operations import add_operation

add_operation(publish_release, label="Go on", leads_to=lambda study: "releases")
