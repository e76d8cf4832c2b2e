"""Addresses of the tenants pages."""

from __future__ import annotations

from django.urls import URLPattern, path

from tenants.views import audit, live, mailbox, members, settings, signin, ssh_keys, tokens, welcome

urlpatterns: list[URLPattern] = [
    path("signin/", signin.signin, name="signin"),
    path("signin/callback/", signin.callback, name="callback"),
    path("signout/", signin.signout, name="signout"),
    path("welcome/", welcome.welcome, name="welcome"),
    path("invitation/", welcome.invitation, name="invitation"),
    path("invitation/<str:token>/", welcome.open_invitation, name="invitation-open"),
    path("invited/", welcome.invited, name="invited"),
    path("demo/mailbox/", mailbox.mailbox, name="mailbox"),
    path("demo/terms/", mailbox.terms, name="demo-terms"),
    path("t/<slug:tenant>/live/<str:kind>/<uuid:pk>/", live.live, name="live"),
    path("t/<slug:tenant>/members/", members.members, name="members"),
    path("t/<slug:tenant>/members/invite/", members.invite, name="invite"),
    path("t/<slug:tenant>/members/leave/", members.leave, name="leave"),
    path("t/<slug:tenant>/members/<uuid:pk>/", members.member, name="member"),
    path("t/<slug:tenant>/members/<uuid:pk>/remove/", members.remove, name="member-remove"),
    path("t/<slug:tenant>/members/<uuid:pk>/suspend/", members.suspend, name="member-suspend"),
    path("t/<slug:tenant>/members/<uuid:pk>/resume/", members.resume, name="member-resume"),
    path("t/<slug:tenant>/settings/", settings.tenant_settings, name="tenant-settings"),
    path("t/<slug:tenant>/members/invitations/<uuid:pk>/", members.invitation_link, name="invitation-link"),
    path("t/<slug:tenant>/members/invitations/<uuid:pk>/revoke/", members.revoke, name="invitation-revoke"),
    path("t/<slug:tenant>/tokens/", tokens.tokens, name="tokens"),
    path("t/<slug:tenant>/tokens/new/", tokens.token_new, name="token-new"),
    path("t/<slug:tenant>/tokens/<uuid:pk>/revoke/", tokens.token_revoke, name="token-revoke"),
    path("t/<slug:tenant>/ssh-keys/", ssh_keys.ssh_keys, name="ssh-keys"),
    path("t/<slug:tenant>/audit/", audit.audit, name="audit"),
    path("t/<slug:tenant>/audit/export/", audit.export, name="audit-export"),
]
