"""The URL to which Prolific sends notifications."""

from django.urls import path

from contrib.prolific.views import take_notification

app_name = "prolific"
urlpatterns = [path("hooks/prolific/", take_notification, name="notifications")]
