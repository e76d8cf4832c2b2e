"""Two people at the same moment: a tenant keeps an owner, a link opens once, a slug is given once."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from django.db import connection

from portal.lib.errors import FreeholdError
from tenants.models import AuditEvent, Membership, OidcIdentity, Role, Tenant, User
from tenants.services import invitations, members
from tenants.services.people import sign_in_person
from tenants.services.tenants import found_tenant
from tenants.signin.claims import Claims
from tests.builders import actor_for, make_member, make_tenant, make_user
from tests.cases import case

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.matrix]


def together(*works: Callable[[], object]) -> list[FreeholdError | None]:
    """Run all at the same moment, each on a connection of its own; what each was refused with."""
    start = Barrier(len(works), timeout=60)

    def run(work: Callable[[], object]) -> FreeholdError | None:
        try:
            start.wait()
            work()
        except FreeholdError as error:
            return error
        finally:
            connection.close()
        return None

    with ThreadPoolExecutor(len(works)) as pool:
        return list(pool.map(run, works))


def test_of_two_owners_who_leave_at_once_one_stays() -> None:
    ada, nora = make_user("Ada"), make_user("Nora")
    tenant = make_tenant(owner=ada)
    make_member(tenant, Role.OWNER, user=nora)
    refused = together(*(lambda one=one: members.leave(actor=actor_for(one, tenant)) for one in (ada, nora)))
    assert [error is None for error in refused].count(True) == 1
    assert Membership.objects.filter(tenant=tenant, role="owner", ended_at=None).count() == 1


@case("U29")
def test_a_link_that_is_accepted_twice_at_once_opens_once() -> None:
    ada, rui = make_user("Ada"), make_user("Rui")
    tenant = make_tenant(owner=ada)
    _, token = invitations.invite(actor=actor_for(ada, tenant), email=rui.email, role="member")
    accept = lambda: invitations.accept_invitation(actor=actor_for(rui), token=token)  # noqa: E731
    refused = together(accept, accept, accept)
    assert [error is None for error in refused].count(True) == 1
    assert Membership.objects.filter(tenant=tenant, user=rui).count() == 1
    assert AuditEvent.objects.filter(verb="invitation.accepted").count() == 1


def test_a_slug_that_two_want_at_once_is_given_once() -> None:
    people = [make_user("Ada"), make_user("Nora")]
    refused = together(
        *(
            lambda one=one: found_tenant(
                actor=actor_for(one), name=f"{one}'s lab", slug="aurora", terms_accepted=True
            )
            for one in people
        )
    )
    assert [error is None for error in refused].count(True) == 1
    assert Tenant.objects.count() == 1


@case("U24")
def test_a_new_person_in_two_tabs_is_one_account() -> None:
    claims = Claims("https://issuer.test", "ada", name="Ada", email="ada@example.org", email_verified=True)
    nobody = actor_for(make_user("Nobody"))
    arrive = lambda: sign_in_person(actor=nobody, claims=claims)  # noqa: E731
    assert together(arrive, arrive, arrive) == [None, None, None]
    assert OidcIdentity.objects.filter(subject="ada").count() == 1
    assert User.objects.filter(name="Ada").count() == 1
