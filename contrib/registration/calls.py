"""The URLs of registrations below /api/."""

from rest_framework.routers import SimpleRouter

from contrib.registration.api import RegistrationResource

router = SimpleRouter()
router.register("registrations", RegistrationResource, "registrations")

urlpatterns = router.urls
