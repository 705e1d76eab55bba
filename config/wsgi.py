"""The WSGI application for gunicorn."""

import os
from importlib import import_module

from django.core.wsgi import get_wsgi_application

from config.observing.logs import log_exposed_files

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
application = get_wsgi_application()
import_module("config.urls")  # loads all views before gunicorn forks, so that processes share their memory
log_exposed_files()
