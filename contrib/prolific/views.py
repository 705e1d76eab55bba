"""The form on the crowd page that fetches demographics, and the view that receives Prolific's notifications."""

from django.http import Http404, HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.translation import gettext_noop
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from annotation.crowds.sync.schedule import record_notification
from annotation.crowds.views.forms import CrowdForm, add_crowd_form
from common.errors import QuorumError
from common.features import feature_settings
from contrib.prolific.demographics import demographics
from contrib.prolific.notifications import studies_of_notification
from judgments.studies.step_form import add_operation


@csrf_exempt  # the notification is signed by its sender
@never_cache
@require_POST
def receive_notification(request: HttpRequest) -> HttpResponse:
    """Record that something changed in the studies that a notification from Prolific is about."""
    if not feature_settings.PROLIFIC_HOOK_SECRET:
        raise Http404("No secret is set.")
    try:
        study_ids = studies_of_notification(
            request.body,
            signature=request.headers.get("X-Prolific-Request-Signature", ""),
            timestamp=request.headers.get("X-Prolific-Request-Timestamp", ""),
            now=timezone.now(),
        )
    except QuorumError as problem:
        return HttpResponse(str(problem), status=problem.status, content_type="text/plain; charset=utf-8")
    for study_id in study_ids:
        record_notification(platform="prolific", external_id=study_id)
    return HttpResponse(status=204)


add_operation(demographics, label="Fetch")
add_crowd_form(
    CrowdForm(
        demographics.name,
        gettext_noop("Fetch demographics"),
        gettext_noop(
            "Fetch the demographics that the design names, for participants who submitted work. "
            "The export “demographics” contains them."
        ),
        setting="demographics",  # the form is shown if the design has crowd.demographics
    ),
    before="qualify-worker",
)
