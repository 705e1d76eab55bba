"""The command ``quorum``: what ``manage.py`` does, from any folder and in words of two levels."""
