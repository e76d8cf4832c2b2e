"""Every address of the portal. A tenant's things live under /t/<slug>/."""

from __future__ import annotations

from django.urls import URLPattern, URLResolver, include, path

from portal.web.admin import operations

urlpatterns: list[URLPattern | URLResolver] = [
    path("", include("portal.web.urls")),
    path("", include("tenants.urls")),
    path("t/<slug:tenant>/", include("portal.web.tenant_urls")),
    path("t/<slug:tenant>/", include("clusters.urls")),
    path("t/<slug:tenant>/", include("jobs.urls")),
    path("api/v1/", include("portal.web.api")),
    path("operations/", operations.urls),
]
handler400 = "portal.web.errors.bad_request"
handler403 = "portal.web.errors.forbidden"
handler404 = "portal.web.errors.not_found"
handler500 = "portal.web.errors.server_error"
