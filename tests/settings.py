"""The settings of a test run: config.settings on a data folder that is thrown away afterwards."""

import atexit
import os
import shutil
import tempfile

_folder = tempfile.mkdtemp(prefix="quorum-tests-")
atexit.register(shutil.rmtree, _folder, ignore_errors=True)
# Set before config.settings reads them: a developer's own `.env` must not reach the tests.
os.environ |= {
    "ENV_FILE": os.devnull,
    # Servers of tests are on this machine, which no proxy of the shell reaches.
    "NO_PROXY": "127.0.0.1,localhost",
    "no_proxy": "127.0.0.1,localhost",
    "DATA_DIR": _folder,
    "STATIC_ROOT": f"{_folder}-static",
    "DATABASE_URL": "",
    "CELERY_BROKER_URL": "",
    # People's pseudonyms come from it, and the sides they see from those: what happens by chance in a test must
    # happen in every run, or in none.
    "SECRET_KEY": "the-same-for-every-run-of-the-tests-0123456789-abcdefghijklmn",
    "ALLOWED_HOSTS": "localhost,127.0.0.1,testserver",
    "HTTPS": "false",
    "DEBUG": "false",
    # Playwright keeps an event loop in the main thread, which Django takes for asynchronous code.
    "DJANGO_ALLOW_ASYNC_UNSAFE": "1",
}

from config.settings import *  # noqa: E402, F403
from config.settings import DATABASES, LIMITS, MIDDLEWARE, STORAGES  # noqa: E402

# In memory, also in several processes: pytest-django knows the name of Django's own backend alone.
DATABASES["default"]["TEST"] = {"NAME": ":memory:"}
# Pages under test name static files without the collected manifest; live servers collect theirs.
STORAGES = {**STORAGES, "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}}
MIDDLEWARE = [name for name in MIDDLEWARE if "whitenoise" not in name]
# All tests come from one address; tests of the limits set theirs.
LIMITS = dict.fromkeys(LIMITS, "")
# Signing in costs a second with the real one, and is Django's to test.
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
