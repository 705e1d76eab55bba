"""The URL to which Prolific sends notifications."""

from django.urls import path

from contrib.prolific.views import receive_notification

app_name = "prolific"
urlpatterns = [path("hooks/prolific/", receive_notification, name="notifications")]
