"""URLs of the workers' pages."""

from django.urls import path

from annotation.crowds.mturk import views as mturk_views
from annotation.crowds.mturk.notifications.views import receive_notification
from annotation.crowds.panel import views as panel_views
from annotation.privacy.views import participants
from annotation.views import answers, joining, leases, own_page, pictures, preview, public, work

app_name = "annotation"
urlpatterns = [
    path("", public.home, name="home"),
    path("s/<slug:slug>/", joining.study, name="study"),
    path("s/<slug:slug>/resume/", joining.resume_participation, name="resume"),
    path("s/<slug:slug>/start/", joining.start, name="start"),
    path("s/<slug:slug>/consent/", participants.show_new_consent, name="consent"),
    path("s/<slug:slug>/leave/", participants.leave_study, name="leave"),
    path("s/<slug:slug>/credits/", public.credits, name="credits"),
    path("s/<slug:slug>/panel/", panel_views.show_entry, name="panel"),
    path("s/<slug:slug>/panel/end/", panel_views.show_end, name="panel-end"),
    path("s/<slug:slug>/preview/", preview.preview, name="preview"),
    path("s/<slug:slug>/examples/<int:number>/picture/", pictures.example_picture, name="example-picture"),
    path("s/<slug:slug>/work/", work.work, name="work"),
    path("s/<slug:slug>/work/<uuid:assignment_id>/save/", answers.save, name="save"),
    path("s/<slug:slug>/work/<uuid:assignment_id>/submit/", answers.submit, name="submit"),
    path("s/<slug:slug>/work/<uuid:assignment_id>/change/", answers.change, name="change"),
    path("s/<slug:slug>/work/<uuid:assignment_id>/ahead/", leases.prefetch_next, name="ahead"),
    path("s/<slug:slug>/work/<uuid:assignment_id>/extend/", leases.extend, name="extend"),
    path("s/<slug:slug>/work/<uuid:assignment_id>/retake/", work.retake, name="retake"),
    path("s/<slug:slug>/work/<uuid:assignment_id>/return/", leases.return_page, name="return"),
    path("s/<slug:slug>/work/<uuid:assignment_id>/report/<int:position>/", work.report_item, name="report"),
    path("s/<slug:slug>/done/", work.show_end, name="done"),
    path("s/<slug:slug>/mturk/", mturk_views.show_arrival, name="mturk"),
    path("s/<slug:slug>/finish/", mturk_views.show_submission, name="finish"),
    path("hooks/mturk/", receive_notification, name="mturk-hook"),
    path("look/<slug:key>/", preview.preview_design, name="look"),
    path("me/", own_page.show_own_page, name="me"),
    path("me/resume/", own_page.renew_resume, name="my-resume"),
    path("me/appeal/<uuid:assignment_id>/", own_page.send_appeal, name="appeal"),
    path("me/answers/", own_page.download_answers, name="my-answers"),
    path("pictures/preview/<int:item_id>/", pictures.preview_picture, name="preview-picture"),
    path("pictures/<uuid:assignment_id>/<int:position>/", pictures.picture, name="picture"),
]
