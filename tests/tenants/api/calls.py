"""How the generated tests call the operations about people."""

from __future__ import annotations

from tests.api.calls import Call
from tests.architecture.routes import ADMINS, MEMBERS, OWNERS
from tests.tenants.routes import SSH_KEY, invitation_of, member_of, second_owner, suspended_member_of

PEOPLE = frozenset({"people"})


CALLS: dict[str, Call] = {
    "me": Call(),
    "my_tenants": Call(),
    "tenant": Call(),
    "members_list": Call(),
    "member": Call(member_of),
    "member_change_role": Call(member_of, body=lambda world: {"role": "member"}, roles=ADMINS, scopes=PEOPLE),
    "member_remove": Call(member_of, roles=ADMINS, scopes=PEOPLE, ok=204),
    "member_suspend": Call(member_of, roles=ADMINS, scopes=PEOPLE),
    "member_resume": Call(suspended_member_of, roles=ADMINS, scopes=PEOPLE),
    "settings": Call(roles=OWNERS, scopes=PEOPLE),
    "settings_change": Call(body=lambda world: {"cancel_jobs_on_leave": True}, roles=OWNERS, scopes=PEOPLE),
    "leave": Call(second_owner, scopes=PEOPLE, ok=204),
    "invitations_list": Call(roles=ADMINS, scopes=PEOPLE),
    "invite": Call(
        body=lambda world: {"email": "somebody@example.org", "role": "member"},
        roles=ADMINS,
        scopes=PEOPLE,
        ok=201,
    ),
    "invitation": Call(invitation_of, roles=ADMINS, scopes=PEOPLE),
    "invitation_revoke": Call(invitation_of, roles=ADMINS, scopes=PEOPLE),
    "ssh_keys": Call(roles=MEMBERS, scopes=frozenset({"jobs"})),
    "ssh_keys_set": Call(body=lambda world: {"keys": SSH_KEY}, roles=MEMBERS, scopes=frozenset({"jobs"})),
    "audit_list": Call(roles=ADMINS, scopes=frozenset({"read"})),
}
