"""What the tests of the platform, in ``tests``, and those of features, in ``contrib``, share."""

pytest_plugins = ["tests.plugin"]
