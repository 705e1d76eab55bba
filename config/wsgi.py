"""The WSGI application for gunicorn."""

import os

from django.core.wsgi import get_wsgi_application

from config.observing.logs import log_exposed_files

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
application = get_wsgi_application()
log_exposed_files()
