"""Addresses of the API about people."""

from __future__ import annotations

from django.urls import URLPattern, path

from tenants.api import audit, invitations, people, ssh_keys

urlpatterns: list[URLPattern] = [
    path("me/", people.MeApi.as_view(), name="api-me"),
    path("me/tenants/", people.MyTenantsApi.as_view(), name="api-my-tenants"),
    path("t/<slug:tenant>/", people.TenantView.as_view(), name="api-tenant"),
    path("t/<slug:tenant>/members/", people.MembersApi.as_view(), name="api-members"),
    path("t/<slug:tenant>/members/leave/", people.LeaveApi.as_view(), name="api-leave"),
    path("t/<slug:tenant>/members/<uuid:pk>/", people.MemberApi.as_view(), name="api-member"),
    path(
        "t/<slug:tenant>/members/<uuid:pk>/suspend/", people.SuspendApi.as_view(), name="api-member-suspend"
    ),
    path("t/<slug:tenant>/members/<uuid:pk>/resume/", people.ResumeApi.as_view(), name="api-member-resume"),
    path("t/<slug:tenant>/settings/", people.SettingsApi.as_view(), name="api-settings"),
    path("t/<slug:tenant>/invitations/", invitations.InvitationsApi.as_view(), name="api-invitations"),
    path(
        "t/<slug:tenant>/invitations/<uuid:pk>/", invitations.InvitationApi.as_view(), name="api-invitation"
    ),
    path(
        "t/<slug:tenant>/invitations/<uuid:pk>/revoke/",
        invitations.InvitationRevokeApi.as_view(),
        name="api-invitation-revoke",
    ),
    path("t/<slug:tenant>/ssh-keys/", ssh_keys.SshKeysApi.as_view(), name="api-ssh-keys"),
    path("t/<slug:tenant>/audit/", audit.AuditApi.as_view(), name="api-audit"),
]
