"""A member's SSH public keys in a tenant: set as a whole, one key a line, each really read."""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import dataclass

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.serialization import load_ssh_public_key
from django.utils.translation import gettext as _

from portal.lib.errors import BadInput, NotVisible
from tenants.actor import Actor
from tenants.commands import command
from tenants.hooks import tell_keys_changed
from tenants.models import Membership, SshKey
from tenants.rights import Action, require
from tenants.scoping import TenantQuerySet

KINDS = (
    "ssh-ed25519",
    "ecdsa-sha2-nistp256",
    "ecdsa-sha2-nistp384",
    "ecdsa-sha2-nistp521",
    "ssh-rsa",
    "sk-ssh-ed25519@openssh.com",
    "sk-ecdsa-sha2-nistp256@openssh.com",
)
MOST_KEYS = 10
LONGEST_LINE = 2000
LONGEST_COMMENT = 100
LEAST_RSA_BITS = 2048
PRIVATE = re.compile(r"PRIVATE KEY")


@dataclass(frozen=True, slots=True)
class Parsed:
    """One line that is a public key."""

    kind: str
    body: str
    comment: str
    fingerprint: str


def keys_of(actor: Actor) -> TenantQuerySet[SshKey]:
    """The actor's own keys in the tenant of the address."""
    return SshKey.objects.for_actor(actor).filter(membership__user=actor.user, membership__ended_at=None)


def set_keys(*, actor: Actor, text: str) -> list[SshKey]:
    """Keep exactly these keys, one a line; none where the text is empty.

    Raises NotAllowed for who submits no jobs, and BadInput (field keys), which names the line.
    """
    require(actor, Action.SUBMIT_JOB)
    wanted = parse(text)
    membership = Membership.objects.filter(tenant=actor.tenant, user=actor.user, ended_at=None).first()
    if membership is None:
        raise NotVisible
    with command("ssh_keys.changed", actor=actor, target=membership) as done:
        Membership.objects.select_for_update().get(pk=membership.pk)  # one change at a time
        known = {key.fingerprint: key for key in SshKey.objects.filter(membership=membership)}
        new = [one for one in wanted if one.fingerprint not in known]
        gone = known.keys() - {one.fingerprint for one in wanted}
        SshKey.objects.filter(membership=membership, fingerprint__in=gone).delete()
        SshKey.objects.bulk_create(
            SshKey(
                membership=membership,
                kind=one.kind,
                body=one.body,
                comment=one.comment,
                fingerprint=one.fingerprint,
            )
            for one in new
        )
        done.detail = {"added": [one.fingerprint for one in new], "removed": sorted(gone)}
        if new or gone:
            tell_keys_changed(membership)
    return list(SshKey.objects.filter(membership=membership))


def forget_keys(membership: Membership) -> None:
    """Inside the command that ends a membership: its keys open nothing any more."""
    SshKey.objects.filter(membership=membership).delete()


def parse(text: str) -> list[Parsed]:
    """The keys of a text, each once. Raises BadInput (field keys)."""
    found: dict[str, Parsed] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip() and not line.lstrip().startswith("#"):
            one = _parse_line(line, number)
            found.setdefault(one.fingerprint, one)
    if len(found) > MOST_KEYS:
        raise _wrong(_("At most %(most)d keys.") % {"most": MOST_KEYS})
    return list(found.values())


def _parse_line(line: str, number: int) -> Parsed:
    if PRIVATE.search(line):
        raise _wrong(
            _("This is a private key. Keep it: the .pub file is what is asked for. Nothing was stored.")
        )
    kind, _gap, rest = line.strip().partition(" ")
    body, _gap, comment = rest.strip().partition(" ")
    at = {"line": number}
    if kind not in KINDS:
        words = _("Line %(line)d begins with no kind of key, such as ssh-ed25519. Options are not taken.")
        raise _wrong(words % at)
    try:
        blob = base64.b64decode(body, validate=True)
        key = load_ssh_public_key(f"{kind} {body}".encode())
    except (ValueError, UnsupportedAlgorithm):
        raise _wrong(_("Line %(line)d is no public key.") % at) from None
    if len(line) > LONGEST_LINE:
        raise _wrong(_("Line %(line)d is too long.") % at)
    if isinstance(key, RSAPublicKey) and key.key_size < LEAST_RSA_BITS:
        told = {**at, "bits": LEAST_RSA_BITS}
        raise _wrong(_("Line %(line)d: an RSA key has at least %(bits)d bits.") % told)
    comment = "".join(letter for letter in comment.strip() if letter.isprintable())
    digest = base64.b64encode(hashlib.sha256(blob).digest()).decode().rstrip("=")
    return Parsed(kind, base64.b64encode(blob).decode(), comment[:LONGEST_COMMENT], f"SHA256:{digest}")


def _wrong(words: str) -> BadInput:
    return BadInput(fields={"keys": words})
