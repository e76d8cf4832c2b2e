"""Slinky's objects as we send them where no chart does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clusters.clients.kube.models import Kind
from clusters.drivers.slinky import conf, names, pods, ready
from clusters.drivers.slinky.settings import FILES, SSSD, Database, SlinkySettings
from clusters.kube import objects
from clusters.kube.objects import ReadyWhen, Wanted, always
from clusters.provisioning.steps import ClusterSpec, PoolSpec

KEYS: Mapping[str, Any] = {
    "slurmKeyRef": {"name": names.SLURM_KEY, "key": names.SLURM_KEY_FILE},
    "jwtKeyRef": {"name": names.JWT_KEY, "key": names.JWT_KEY_FILE},
}
CONTROLLED_BY = {"name": names.RELEASE}
SSSD_REF = {"name": names.SSSD, "key": names.SSSD_FILE}


def config(settings: SlinkySettings) -> tuple[Wanted, Wanted]:
    """Files beside slurm.conf; the webhook reads them, so they must be there before the Controller."""
    files = {"gres.conf": conf.gres_conf(settings), "cgroup.conf": conf.CGROUP}
    scripts = {f"prolog-{name}": text for name, text in conf.SCRIPTS.items()}
    return (
        objects.config_map(names.CONFIG, files, namespace=names.NAMESPACE),
        objects.config_map(names.PROLOG, scripts, namespace=names.NAMESPACE),
    )


def controller(spec: ClusterSpec, settings: SlinkySettings) -> Wanted:
    """slurmctld. Its cluster's name cannot be changed later, so it is our external one."""
    has_accounting = settings.database is not None
    body: dict[str, Any] = {
        **KEYS,
        "clusterName": spec.name,
        **({"accountingRef": {"name": names.RELEASE}} if has_accounting else {}),
        "slurmctld": _container(settings, "slurmctld"),
        "inplaceReconfigure": True,
        "reconfigure": {"image": settings.images.of("slurmctld")},
        "logfile": {"image": settings.images.helper},
        "configFileRefs": [{"name": names.CONFIG}],
        "prologScriptRefs": [{"name": names.PROLOG}],
        "extraConf": conf.extra_conf(spec, accounting=has_accounting, user_top=settings.user_top),
        "persistence": persistence(settings),
        "template": {"spec": pods.own(settings)},
    }
    return _wanted(names.CONTROLLER, names.RELEASE, body)


def accounting(spec: ClusterSpec, database: Database, settings: SlinkySettings) -> Wanted:
    """slurmdbd."""
    body = {
        **KEYS,
        # whoever administers comes with a token, and slurmdbd looks for the uid of the name in it
        "slurmdbd": _container(settings, "slurmdbd"),
        "storageConfig": storage(spec, database),
        "template": {"spec": pods.own(settings)},
    }
    return _wanted(names.ACCOUNTING, names.RELEASE, body)


def rest_api(settings: SlinkySettings) -> Wanted:
    """slurmrestd."""
    body = {
        "controllerRef": CONTROLLED_BY,
        "replicas": settings.rest_replicas,
        "slurmrestd": _container(settings, "slurmrestd"),
        "template": {"spec": pods.own(settings)},
    }
    return _wanted(names.REST_API, names.RELEASE, body)


def node_set(pool: PoolSpec, spec: ClusterSpec, settings: SlinkySettings, replicas: int) -> Wanted:
    """The workers of a pool. Records of nodes that are gone are pruned, so that none waits for them.

    A worker's image starts SSSD only together with its sshd.
    """
    extra = conf.node_conf(pool)
    body: dict[str, Any] = {
        "controllerRef": CONTROLLED_BY,
        "scalingMode": "StatefulSet",
        "replicas": replicas,
        "workloadDisruptionProtection": True,
        "pruneSlurmNodeRecords": "NodeNotFound",
        **({"extraConf": extra} if extra else {}),
        "partition": {"enabled": True, "config": conf.partition(pool, spec)},
        **({"ssh": {"enabled": True, "sssdConfRef": SSSD_REF}} if settings.identity == SSSD else {}),
        "slurmd": {
            **_container(settings, "slurmd", home=True),
            "resources": {"limits": pods.limits(pool, settings)},
        },
        "logfile": {"image": settings.images.helper},
        "template": {"spec": {**pods.worker(pool, settings), "hostname": f"{pool.name}-"}},
        "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1}},
    }
    return _wanted(names.NODE_SET, names.node_set(pool.name), body, ready=ready.node_set)


def login_set(settings: SlinkySettings) -> Wanted:
    """Pods for shells."""
    login = settings.login
    body: dict[str, Any] = {
        "controllerRef": CONTROLLED_BY,
        "replicas": login.replicas,
        "login": _container(settings, "login", home=True),
        "initconf": {"image": settings.images.helper},
        "sssdConfRef": SSSD_REF,
        **({"rootSshAuthorizedKeys": "\n".join(login.root_keys)} if login.root_keys else {}),
        **({"extraSshdConfig": conf.SSHD} if settings.identity == FILES else {}),
        "service": {"port": 22, "spec": {"type": login.service}},
        "template": {"spec": pods.own(settings, home=True, people=True)},
    }
    return _wanted(names.LOGIN_SET, names.login_set(), body)


def persistence(settings: SlinkySettings) -> dict[str, Any]:
    """Where slurmctld keeps its state."""
    found: dict[str, Any] = {
        "enabled": True,
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": settings.state_size}},
    }
    return {**found, "storageClassName": settings.state_class} if settings.state_class else found


def storage(spec: ClusterSpec, database: Database) -> dict[str, Any]:
    """One database a cluster: accounting of tenants never meets."""
    return {
        "host": database.host,
        "port": database.port,
        "database": f"slurm_{spec.name.replace('-', '_')}",
        "username": database.user,
        "passwordKeyRef": {"name": names.DATABASE, "key": names.DATABASE_KEY},
    }


def _container(settings: SlinkySettings, name: str, *, home: bool = False) -> dict[str, Any]:
    found: dict[str, Any] = {"image": settings.images.of(name)}
    mounts = pods.mounts(settings, home=home)
    return {**found, "volumeMounts": mounts} if mounts else found


def _wanted(kind: Kind, name: str, spec: Mapping[str, Any], *, ready: ReadyWhen = always) -> Wanted:
    made = objects.manifest(kind, name, {"spec": spec}, namespace=names.NAMESPACE)
    return Wanted(kind, made, ready=ready)
