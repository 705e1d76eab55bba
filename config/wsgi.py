"""The WSGI application for gunicorn."""

import os

from django.core.wsgi import get_wsgi_application
from django.urls import get_resolver

from config.observing.logs import log_exposed_files

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
application = get_wsgi_application()
get_resolver().url_patterns  # noqa: B018 (imports the views, once for all processes that gunicorn forks)
log_exposed_files()
