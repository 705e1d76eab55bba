"""The settings of a whole installation under test: those of any, but that signing in costs no second."""

from config.settings import *  # noqa: F403

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
JOB_GRACE_SECONDS = 1
