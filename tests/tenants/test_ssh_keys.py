"""SSH public keys of members: really read, one a line, audited, and gone with the membership."""

from __future__ import annotations

import base64

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)
from django.test import Client

from portal.lib.errors import BadInput, NotAllowed
from tenants import hooks
from tenants.models import AuditEvent, Membership, Role, SshKey, Tenant, User
from tenants.services import members, ssh_keys
from tests.builders import actor_for, make_member, sign_in
from tests.tenants.routes import SSH_KEY

pytestmark = pytest.mark.django_db
EC = ec.generate_private_key(ec.SECP256R1())


def public(key: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey) -> str:
    """As a .pub file has it."""
    return key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()


def test_keys_are_kept_as_they_are_read(ada: User, tenant: Tenant) -> None:
    text = f"# laptop\n{SSH_KEY}\n\n  {public(EC)}   a\x07 b \n{SSH_KEY} again\n"
    made = ssh_keys.set_keys(actor=actor_for(ada, tenant), text=text)
    assert [(key.kind, key.comment) for key in made] == [
        ("ssh-ed25519", "ada@laptop"),
        ("ecdsa-sha2-nistp256", "a b"),
    ]
    assert made[0].line == " ".join(SSH_KEY.split()[:2])
    # as ssh-keygen -l prints it
    assert made[0].fingerprint == "SHA256:lbmsoA0yIEcEiVDRnMWuzm+nV+3ZEEpVIURqFoeSspg"
    event = AuditEvent.objects.get(verb="ssh_keys.changed")
    assert event.detail == {"added": [key.fingerprint for key in made], "removed": []}
    ssh_keys.set_keys(actor=actor_for(ada, tenant), text=SSH_KEY)
    assert SshKey.objects.get() == made[0]
    assert AuditEvent.objects.filter(verb="ssh_keys.changed").last().detail["removed"] == [  # type: ignore[union-attr]
        made[1].fingerprint
    ]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("ssh-ed25519 AAAA", "Line 1 is no public key"),
        (f"\n{SSH_KEY.split()[0]} {SSH_KEY.split()[1]}x", "Line 2 is no public key"),
        (f"ssh-rsa {SSH_KEY.split()[1]}", "Line 1 is no public key"),
        (f'command="id" {SSH_KEY}', "Options are not taken"),
        (f"ssh-dss {base64.b64encode(b'x').decode()}", "begins with no kind of key"),
        (public(rsa.generate_private_key(65537, 1024)), "at least 2048 bits"),  # noqa: S505  # refused
        (
            EC.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()).decode(),
            "This is a private key",
        ),
        ("\n".join(public(ec.generate_private_key(ec.SECP256R1())) for _ in range(11)), "At most 10 keys"),
        (SSH_KEY + " " + "x" * 2000, "Line 1 is too long"),
    ],
    ids=["short", "garbled", "another kind", "options", "old kind", "weak", "private", "many", "long"],
)
def test_what_is_no_public_key_is_refused_and_changes_nothing(
    client: Client, ada: User, tenant: Tenant, text: str, says: str
) -> None:
    ssh_keys.set_keys(actor=actor_for(ada, tenant), text=SSH_KEY)
    with pytest.raises(BadInput) as refused:
        ssh_keys.set_keys(actor=actor_for(ada, tenant), text=text)
    assert says in refused.value.fields["keys"]
    answer = sign_in(client, ada).post(f"/t/{tenant.slug}/ssh-keys/", {"keys": text})
    assert answer.status_code == 400
    assert says in answer.content.decode()
    assert SshKey.objects.get().line in SSH_KEY


def test_they_go_with_the_membership_and_stay_through_a_suspension(ada: User, tenant: Tenant) -> None:
    rui = make_member(tenant, Role.MEMBER)
    ssh_keys.set_keys(actor=actor_for(rui, tenant), text=SSH_KEY)
    membership = Membership.objects.get(user=rui)
    members.suspend_member(actor=actor_for(ada, tenant), membership=membership)
    assert SshKey.objects.exists()
    membership.refresh_from_db()
    members.remove_member(actor=actor_for(ada, tenant), membership=membership)
    assert not SshKey.objects.exists()


def test_each_person_sees_and_sets_only_own_ones(client: Client, ada: User, tenant: Tenant) -> None:
    rui, eve = make_member(tenant, Role.MEMBER), make_member(tenant, Role.VIEWER)
    told: list[Membership] = []
    hooks.keys_changed.append(told.append)
    try:
        sign_in(client, rui).post(f"/t/{tenant.slug}/ssh-keys/", {"keys": SSH_KEY})
        ssh_keys.set_keys(actor=actor_for(rui, tenant), text=SSH_KEY)  # nothing new: nobody is told
    finally:
        hooks.keys_changed.remove(told.append)
    assert [one.user for one in told] == [rui]
    assert not ssh_keys.keys_of(actor_for(ada, tenant)).exists()
    assert "ada@laptop" in sign_in(client, rui).get(f"/t/{tenant.slug}/ssh-keys/").content.decode()
    with pytest.raises(NotAllowed):
        ssh_keys.set_keys(actor=actor_for(eve, tenant), text=SSH_KEY)
