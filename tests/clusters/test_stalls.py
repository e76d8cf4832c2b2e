"""Operators are told once of each stall, and of nothing else."""

from __future__ import annotations

import pytest
from django.conf import settings as configured
from pytest_django.fixtures import Settings

from clusters.models import Cluster, Site
from clusters.provisioning import engine
from clusters.services.clusters import retry
from portal.lib.crypto import unseal
from tenants.models import OutboxMail, User
from tests.builders import make_tenant
from tests.clusters.builders import make_cluster, make_site, operator
from tests.clusters.fakes import World

pytestmark = pytest.mark.django_db


@pytest.fixture
def cluster(world: World) -> Cluster:
    return make_cluster(make_tenant(), make_site())


def mails() -> list[OutboxMail]:
    return list(OutboxMail.objects.filter(kind="cluster.stalled").order_by("created_at"))


def text(mail: OutboxMail) -> str:
    assert mail.sealed_body is not None
    return unseal(bytes(mail.sealed_body)).decode()


def test_one_mail_for_each_stall(world: World, cluster: Cluster) -> None:
    engine_of = operator().user
    world.set("slurm", fail="permanent", on="apply")
    engine.reconcile(cluster.pk)
    engine.reconcile(cluster.pk)
    (mail,) = mails()
    assert engine_of is not None
    assert (mail.to, mail.about_id) == (engine_of.email, cluster.pk)
    assert mail.subject == "gpu-a of Aurora Lab needs a person: Start Slurm"
    for part in (
        "NameTaken",
        "Somebody else has this name.",
        "Find out who.",
        f"{configured.PUBLIC_URL}/operations/clusters/cluster/{cluster.pk}/change/",
    ):
        assert part in text(mail)
    retry(actor=operator(), cluster=cluster)
    engine.reconcile(cluster.pk)
    assert len(mails()) == 2


def test_trouble_that_passes_is_not_told(world: World, cluster: Cluster) -> None:
    operator()
    world.set("slurm", fail="temporary", on="apply")
    engine.reconcile(cluster.pk)
    assert mails() == []


def test_the_setting_names_who_is_told(world: World, cluster: Cluster, settings: Settings) -> None:
    operator()
    settings.OPERATOR_EMAILS = ["noc@provider.example", "duty@provider.example"]
    world.set("slurm", fail="permanent", on="apply")
    engine.reconcile(cluster.pk)
    assert sorted(mail.to for mail in mails()) == sorted(settings.OPERATOR_EMAILS)


def test_in_the_operators_language(world: World, cluster: Cluster, settings: Settings) -> None:
    settings.OPERATOR_ISSUER = "https://operators.example"
    person = operator().user
    assert person is not None
    User.objects.filter(pk=person.pk).update(language="de")
    world.set("slurm", fail="permanent", on="apply")
    engine.reconcile(cluster.pk)
    assert [mail.to for mail in mails()] == [person.email]
    assert "Find out who." in text(mails()[0])  # what a worker stored stays as it was written


def test_a_site_that_cannot_be_driven_is_told_once(world: World, cluster: Cluster) -> None:
    operator()
    Site.objects.update(drivers={"machines": "nowhere"})
    engine.reconcile(cluster.pk)
    engine.reconcile(cluster.pk)
    (mail,) = mails()
    assert mail.subject == "gpu-a of Aurora Lab needs a person: Looking at it"
    reason = Cluster.objects.get(pk=cluster.pk).reason
    assert reason
    assert reason in text(mail)
