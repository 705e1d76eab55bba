"""What stands in place of a study's page while its figures are counted for the first time."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse

from judgments.admin.study_pages import Context
from judgments.models import Job, Study
from judgments.remembered import newest_count

EVERY_SECONDS = 2


def show_counting(request: HttpRequest, study: Study, context: Context) -> HttpResponse:
    """That they are being counted and since when. Its script asks for the page again until it is there; while there is
    nothing new it gets no content, so that whoever reads or works on the page is not disturbed."""
    job = newest_count(study)
    failed = job is not None and job.state == Job.State.FAILED
    if request.headers.get("HX-Request") and not failed:
        return HttpResponse(status=204)
    context |= {"counting": job, "failed": failed, "address": request.get_full_path(), "every": EVERY_SECONDS}
    answer = TemplateResponse(request, "judgments/study/counting.html", context)
    answer["Cache-Control"] = "no-store"
    return answer
