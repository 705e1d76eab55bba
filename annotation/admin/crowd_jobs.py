"""Carrying out in the background what a page just asked of a crowd."""

from __future__ import annotations

from django.http import HttpRequest

from annotation.models import CrowdCall
from annotation.services.sync_rounds import ask_to_sync
from judgments.admin.base import signed_in
from judgments.models import Study


def go_on(request: HttpRequest, study: Study) -> None:
    """Where something waits to be asked."""
    if CrowdCall.objects.filter(study=study, state=CrowdCall.State.WAITING).exists():
        ask_to_sync(study=study, by=signed_in(request))
