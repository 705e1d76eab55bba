"""Fixtures of the tests of the platform (``tests``) and of features (``contrib``)."""

pytest_plugins = ["tests.plugin"]
