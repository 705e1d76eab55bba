"""The URLs of rehearsals below /api/."""

from rest_framework.routers import SimpleRouter

from contrib.rehearsals.resources import RehearsalResource

router = SimpleRouter()
router.register("rehearsals", RehearsalResource, "rehearsals")

urlpatterns = router.urls
