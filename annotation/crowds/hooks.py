"""Notifications from crowds. They are only hints to look."""

from __future__ import annotations

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from annotation.crowds.mturk import notifications
from annotation.crowds.mturk.notifications import Subscription, read_sns
from annotation.crowds.mturk.pages import SITES
from annotation.crowds.prolific.notifications import studies_with_news
from annotation.crowds.sync import note_hint
from common.errors import QuorumError


@csrf_exempt  # signed by its sender
@never_cache
@require_POST
def mturk(request: HttpRequest) -> HttpResponse:
    topic = notifications.topic()
    if not topic:
        raise Http404("No topic is set.")
    try:
        message = read_sns(
            request.body, topic=topic, now=timezone.now(), certificate=notifications.certificate
        )
        if isinstance(message, Subscription):
            notifications.confirm(message.url)
            return HttpResponse(status=204)
    except QuorumError as problem:
        return HttpResponse(str(problem), status=problem.status, content_type="text/plain; charset=utf-8")
    except notifications.NotFetched as problem:
        return HttpResponse(str(problem), status=503, content_type="text/plain; charset=utf-8")
    for hit in message:
        for platform in SITES:
            note_hint(platform=platform, external_id=hit)
    return HttpResponse(status=204)


@csrf_exempt  # signed by its sender
@never_cache
@require_POST
def prolific(request: HttpRequest) -> HttpResponse:
    if not settings.PROLIFIC_HOOK_SECRET:
        raise Http404("No secret is set.")
    try:
        studies = studies_with_news(
            request.body,
            signature=request.headers.get("X-Prolific-Request-Signature", ""),
            timestamp=request.headers.get("X-Prolific-Request-Timestamp", ""),
            now=timezone.now(),
        )
    except QuorumError as problem:
        return HttpResponse(str(problem), status=problem.status, content_type="text/plain; charset=utf-8")
    for study in studies:
        note_hint(platform="prolific", external_id=study)
    return HttpResponse(status=204)
