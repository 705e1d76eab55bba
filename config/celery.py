"""The background worker: `celery --app config worker --pool threads`."""

import os

from celery import Celery
from celery.signals import setup_logging
from kombu.transport import TRANSPORT_ALIASES

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
TRANSPORT_ALIASES["filesystem"] = "config.broker:FolderTransport"

app = Celery("quorum")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


@setup_logging.connect
def _keep_our_logging(**_: object) -> None:
    """Do nothing: being connected makes Celery leave logging to settings.LOGGING."""
