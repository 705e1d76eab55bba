"""What the admin's pages may do beyond the strict policy of everybody else's."""

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.urls import reverse


class AdminPolicyMiddleware:
    """Adds settings.ADMIN_POLICY_CHANGES to the Content-Security-Policy below the admin's address alone."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """The response, marked for django-csp, which writes the header."""
        response = self.get_response(request)
        if request.path.startswith(reverse("admin:index")) and not hasattr(response, "_csp_update"):
            response._csp_update = settings.ADMIN_POLICY_CHANGES  # type: ignore[attr-defined]  # django-csp's own mark
        return response
