"""Acts of tests.e2e.acting, and those that make a running Slurm a cluster of the portal."""

from __future__ import annotations

import django

django.setup()

# Models may be imported only after Django is set up, which the line above does.
from django.db import transaction  # noqa: E402

from clusters.models import Cluster, IdentityKind, Phase, StepState  # noqa: E402
from jobs import tasks  # noqa: E402
from jobs.history import reading  # noqa: E402
from jobs.history.models import HistoryCursor  # noqa: E402
from jobs.models import Job  # noqa: E402
from portal.lib import clock, crypto  # noqa: E402
from portal.lib.types import JSONDict  # noqa: E402
from tenants.models import Role, Tenant  # noqa: E402
from tests.builders import make_member  # noqa: E402
from tests.clusters.builders import make_cluster, make_site  # noqa: E402
from tests.e2e import acting  # noqa: E402
from tests.jobs.builders import know_accounts  # noqa: E402


def join(subject: str, slug: str) -> JSONDict:
    """This person becomes a member who may submit."""
    make_member(Tenant.objects.get(slug=slug), Role.MEMBER, user=acting.person(subject).user)
    return {}


@transaction.atomic  # the observer sees it when all of it is there
def adopt(slug: str, name: str, slurm: JSONDict) -> JSONDict:
    """A ready cluster that is this Slurm: url, version, key (hex), homes, and accounts.

    `accounts` maps the subject of a person, or "observer", to name, uid and gid of a user who exists there.
    """
    tenant = Tenant.objects.get(slug=slug)
    site = make_site(f"Site of {name}", machines=2)
    cluster = make_cluster(tenant, site, name=name, phase=Phase.READY)
    # its books are read; its tools are those of another release than this machine's, so it has no console
    site.drivers = {**site.drivers, "slurm": "elsewhere", "accounting": "elsewhere"}
    site.save(update_fields=["drivers"])
    cluster.identities.filter(kind=IdentityKind.ADMINISTRATOR).delete()
    users = {
        acting.person(subject).user.pk: subject for subject in slurm["accounts"] if subject != "observer"
    }
    for identity in cluster.identities.select_related("membership"):
        key = users[identity.membership.user_id] if identity.membership else "observer"
        identity.name, identity.uid, identity.gid = slurm["accounts"][key]
        identity.save()
    know_accounts(cluster, homes=slurm["homes"])
    endpoint = cluster.slurm
    endpoint.url, endpoint.api_version, endpoint.release = slurm["url"], slurm["version"], ""
    endpoint.sealed_jwt_key = crypto.seal(bytes.fromhex(slurm["key"]))
    endpoint.save()
    return {"cluster": str(cluster.pk)}


def part(cluster: str) -> JSONDict:
    """The observer looks there no more: its Slurm ends."""
    Cluster.objects.filter(pk=cluster).update(wanted=False, phase=Phase.DELETED, deleted_at=clock.now())
    StepState.objects.filter(cluster__pk=cluster).delete()
    return {}


def read_history(cluster: str) -> JSONDict:
    """What the worker does once a minute, a minute later each time; of how many jobs the use is known."""
    HistoryCursor.objects.filter(cluster__pk=cluster).update(next_at=clock.now())
    reading.due(clock.now())
    tasks.read_history(cluster)
    cursor = HistoryCursor.objects.get(cluster__pk=cluster)
    return {
        "known": Job.objects.filter(cluster__pk=cluster, use__isnull=False).count(),
        "trouble": cursor.trouble,
    }


def observed(cluster: str) -> JSONDict:
    """Whether the observer has looked, and which source it used."""
    row = Cluster.objects.select_related("slurm").get(pk=cluster).slurm
    return {"at": row.observed_at.isoformat() if row.observed_at else "", "source": row.source}


acting.ACTS.update({act.__name__: act for act in (join, adopt, part, read_history, observed)})

if __name__ == "__main__":
    acting.main()
