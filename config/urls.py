"""The root URLconf."""

from django.conf import settings
from django.urls import include, path
from django.views.i18n import set_language

from config.admin.site import site
from config.sign_in import change_password
from evaluation.reports.shared_page import shared_report
from judgments.access.api import MayUploadView
from judgments.admin.documentation import show_document
from judgments.admin.terms import show_terms

urlpatterns = [
    *(path("", include(feature.urls)) for feature in settings.FEATURES.values() if feature.urls),
    path("admin/password_change/", site.admin_view(change_password, cacheable=True)),
    path("admin/help/<path:name>", site.admin_view(show_document), name="documentation"),
    path("admin/terms/<slug:language>/", site.admin_view(show_terms, cacheable=True), name="terms"),
    path("admin/", site.urls),
    path("api/", include("config.api.urls")),
    # A proxy asks here, before it reads the body of an upload, whether an "account" or "staff" (``who``) sends it.
    path("may-upload/<slug:who>/", MayUploadView.as_view(), name="may-upload"),
    path("language/", set_language, name="language"),
    path("shared/<int:entry>/<slug:signature>/", shared_report, name="shared-report"),
    path("shared/<int:entry>/<slug:signature>/<path:name>", shared_report),
    path("", include("annotation.urls")),
]

handler400 = "config.observing.error_views.bad_request"
handler404 = "config.observing.error_views.not_found"
handler500 = "config.observing.error_views.server_error"
