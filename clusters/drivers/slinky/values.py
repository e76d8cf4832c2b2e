"""The same cluster as releases of SchedMD's charts (1.2.1), for Argo CD or Flux."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clusters.drivers.slinky import conf, names, pods, shapes
from clusters.drivers.slinky.settings import FILES, SSSD, SlinkySettings
from clusters.kube.renderers.release import Release
from clusters.provisioning.steps import ClusterSpec, PoolSpec

CERT_MANAGER = "cert-manager"


def operators(settings: SlinkySettings) -> tuple[Release, ...]:
    """What must be there before Slurm: its kinds, certificates for the webhook, and the operator."""
    charts = settings.charts
    crds = _release(settings, "slurm-operator-crds", names.OPERATOR, {})
    operator = _release(
        settings,
        "slurm-operator",
        names.OPERATOR,
        {
            "operator": {"namespaces": names.NAMESPACE},
            "webhook": {"namespaces": names.NAMESPACE},
            "certManager": {"enabled": True},
        },
    )
    if not charts.cert_manager:
        return (crds, operator)
    manager = Release(
        CERT_MANAGER,
        CERT_MANAGER,
        CERT_MANAGER,
        charts.cert_manager_repo,
        charts.cert_manager,
        {"crds": {"enabled": True}},
    )
    return (crds, manager, operator)


def slurm(spec: ClusterSpec, settings: SlinkySettings, replicas: Mapping[str, int]) -> Release:
    """Slurm itself. Keys are made by us: rendered anew by Argo CD, the chart would make others each time."""
    values: dict[str, Any] = {
        "clusterName": spec.name,
        "slurmKey": _key(names.SLURM_KEY, names.SLURM_KEY_FILE),
        "jwtKey": _key(names.JWT_KEY, names.JWT_KEY_FILE),
        "configFiles": {"gres.conf": conf.gres_conf(settings), "cgroup.conf": conf.CGROUP},
        "prologScripts": dict(conf.SCRIPTS),
        "controller": _controller(spec, settings),
        "restapi": {
            "replicas": settings.rest_replicas,
            "slurmrestd": _container(settings, "slurmrestd"),
            "podSpec": _pod(pods.own(settings)),
        },
        "accounting": _accounting(spec, settings),
        "sssd": {"secretRef": {"name": names.SSSD, "key": names.SSSD_FILE}},
        "nodesets": {pool.name: _node_set(pool, spec, settings, replicas[pool.name]) for pool in spec.pools},
        "loginsets": _login(settings),
    }
    if settings.images.pull_secrets:
        values["imagePullSecrets"] = [{"name": name} for name in settings.images.pull_secrets]
    return _release(settings, names.RELEASE, names.NAMESPACE, values)


def _controller(spec: ClusterSpec, settings: SlinkySettings) -> dict[str, Any]:
    return {
        "slurmctld": _container(settings, "slurmctld"),
        "inplaceReconfigure": True,
        "reconfigure": {"image": _image(settings, "slurmctld")},
        "logfile": {"image": _helper(settings)},
        "persistence": shapes.persistence(settings),
        "extraConf": _extra_conf(spec, settings),
        "podSpec": _pod(pods.own(settings)),
    }


def _extra_conf(spec: ClusterSpec, settings: SlinkySettings) -> str:
    return conf.extra_conf(spec, accounting=settings.database is not None, user_top=settings.user_top)


def _accounting(spec: ClusterSpec, settings: SlinkySettings) -> dict[str, Any]:
    if settings.database is None:
        return {"enabled": False}
    return {
        "enabled": True,
        "slurmdbd": _container(settings, "slurmdbd"),
        "podSpec": _pod(pods.own(settings)),
        "storageConfig": shapes.storage(spec, settings.database),
    }


def _node_set(pool: PoolSpec, spec: ClusterSpec, settings: SlinkySettings, replicas: int) -> dict[str, Any]:
    extra = conf.node_conf(pool)
    return {
        "replicas": replicas,
        "pruneSlurmNodeRecords": "NodeNotFound",
        "slurmd": {
            **_container(settings, "slurmd", home=True),
            "resources": {"limits": pods.limits(pool, settings)},
        },
        "logfile": {"image": _helper(settings)},
        **({"extraConf": extra} if extra else {}),
        "partition": {"enabled": True, "config": conf.partition(pool, spec)},
        **({"ssh": {"enabled": True}} if settings.identity == SSSD else {}),
        "podSpec": _pod(pods.worker(pool, settings)),
        "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1}},
    }


def _login(settings: SlinkySettings) -> dict[str, Any]:
    login = settings.login
    if not login.replicas:
        return {}
    one: dict[str, Any] = {
        "replicas": login.replicas,
        "login": _container(settings, "login", home=True),
        "initconf": {"image": _helper(settings)},
        "podSpec": _pod(pods.own(settings, home=True, people=True)),
        "service": {"port": 22, "spec": {"type": login.service}},
    }
    if settings.identity == FILES:
        one["extraSshdConfig"] = conf.SSHD
    if login.root_keys:
        one["rootSshAuthorizedKeys"] = "\n".join(login.root_keys)
    return {names.LOGIN: one}


def _release(settings: SlinkySettings, name: str, namespace: str, values: Mapping[str, Any]) -> Release:
    return Release(name, namespace, name, settings.charts.repo, settings.charts.version, values)


def _key(name: str, file: str) -> dict[str, Any]:
    return {"create": False, "secretRef": {"name": name, "key": file}}


def _pod(own: Mapping[str, Any]) -> dict[str, Any]:
    """Without pull secrets, which the chart adds to each pod itself."""
    return {name: value for name, value in own.items() if name != "imagePullSecrets"}


def _container(settings: SlinkySettings, name: str, *, home: bool = False) -> dict[str, Any]:
    found: dict[str, Any] = {"image": _image(settings, name)}
    mounts = pods.mounts(settings, home=home)
    return {**found, "volumeMounts": mounts} if mounts else found


def _image(settings: SlinkySettings, name: str) -> dict[str, str]:
    return {"repository": f"{settings.images.registry}/{name}", "tag": settings.images.tag}


def _helper(settings: SlinkySettings) -> dict[str, str]:
    repository, _, tag = settings.images.helper.rpartition(":")
    return {"repository": repository, "tag": tag}
