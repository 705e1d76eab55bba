"""The view that receives the notifications of Mechanical Turk's SNS topic."""

from __future__ import annotations

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from annotation.crowds.mturk.frames import SITES
from annotation.crowds.mturk.notifications.amazon import NotFetched, confirm_subscription, fetch_certificate
from annotation.crowds.mturk.notifications.messages import Subscription, read_sns
from annotation.crowds.sync.schedule import record_notification
from common.errors import QuorumError


@csrf_exempt  # the message is signed by its sender
@never_cache
@require_POST
def receive_notification(request: HttpRequest) -> HttpResponse:
    """Receive a message of the SNS topic: confirm the subscription, or note the HITs that have news."""
    topic = settings.MTURK_SNS_TOPIC
    if not topic:
        raise Http404("No topic is set.")
    try:
        hits_or_subscription = read_sns(
            request.body, topic=topic, now=timezone.now(), fetch_certificate=fetch_certificate
        )
        if isinstance(hits_or_subscription, Subscription):
            confirm_subscription(hits_or_subscription.url)
            return HttpResponse(status=204)
    except QuorumError as problem:
        return HttpResponse(str(problem), status=problem.status, content_type="text/plain; charset=utf-8")
    except NotFetched as problem:  # after the status 503, SNS sends the message again
        return HttpResponse(str(problem), status=503, content_type="text/plain; charset=utf-8")
    for hit_id in hits_or_subscription:
        for platform in SITES:  # an event does not say whether it comes from the sandbox
            record_notification(platform=platform, external_id=hit_id)
    return HttpResponse(status=204)
