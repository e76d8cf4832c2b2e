"""What must be in a tenant's cluster before Slurm: namespace, keys, volume, password, and the operator."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from cryptography.hazmat.primitives.hashes import SHA512
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from clusters.clients.kube.client import KubeClient
from clusters.clients.kube.models import Manifest, Ref
from clusters.drivers.slinky import conf, names, shapes, values
from clusters.drivers.slinky.settings import FILES, SlinkySettings
from clusters.kube import kinds, objects, rights
from clusters.kube.gitops.checked import CheckedStep, InstalledStep, by_name, workloads_ready
from clusters.kube.gitops.installer import Installer
from clusters.kube.objects import READY, Readiness, Wanted
from clusters.kube.renderers.release import Release
from clusters.kube.sinks import Scope
from clusters.kube.step import Clients, ObjectsStep
from clusters.provisioning.steps import ClusterSpec, StepContext
from portal.lib.errors import PermanentError

JWT: Final = "slurm-jwt-key"
PASSWORD: Final = "site.slurm-db-password"  # noqa: S105  # the name of a secret
SSSD_CONF: Final = "site.sssd-conf"
KEY_BYTES = 1024
TENANT = "the tenant's cluster"


class KeysStep(ObjectsStep):
    """The namespace and what pods read from it. Keys never change in place: all tokens would die at once."""

    name = "slurm-keys"
    component = "Slinky"
    system = TENANT
    needs: tuple[str, ...] = ("control-plane", "access")
    deadline = dt.timedelta(minutes=5)

    def __init__(self, settings: SlinkySettings, clients: Clients) -> None:
        super().__init__(clients)
        self._settings = settings

    def describe(self, spec: ClusterSpec) -> tuple[str, ...]:
        """See Step."""
        del spec
        return (
            f"namespace {names.NAMESPACE}",
            "two keys for Slurm, made by Freehold",
            "user lookup of its pods",
            *(["the portal's right to run Slurm's own programs in its pods"] if self._needs_console else []),
        )

    def scopes(self, ctx: StepContext) -> tuple[Scope, ...]:
        """See ObjectsStep."""
        del ctx
        return (
            Scope(kinds.NAMESPACE),
            Scope(kinds.SECRET, names.NAMESPACE),
            Scope(kinds.CONFIG_MAP, names.NAMESPACE),
            Scope(kinds.ROLE_BINDING, names.NAMESPACE),
        )

    def wanted(self, ctx: StepContext) -> tuple[Wanted, ...]:
        """See ObjectsStep."""
        key = ctx.secrets.get(JWT, b"")
        if len(key) < 32:
            raise PermanentError("KeyMissing", "The cluster has no key for Slurm's tokens.")
        return (
            objects.namespace(names.NAMESPACE),
            _key(names.SLURM_KEY, {names.SLURM_KEY_FILE: slurm_key(key, ctx.spec.name)}),
            _key(names.JWT_KEY, {names.JWT_KEY_FILE: key}),
            objects.secret(names.SSSD, {names.SSSD_FILE: self._sssd(ctx)}, namespace=names.NAMESPACE),
            *self._switch(),
            *([_console()] if self._needs_console else []),
        )

    @property
    def _needs_console(self) -> bool:
        """For login pods, or for the administrator of slurmdbd."""
        return bool(self._settings.login.replicas or self._settings.database)

    def for_plan(self, ctx: StepContext) -> StepContext:
        """See ObjectsStep."""
        return replace(ctx, secrets={JWT: bytes(KEY_BYTES), **ctx.secrets})

    def _sssd(self, ctx: StepContext) -> bytes:
        if self._settings.identity == FILES:
            return conf.SSSD.encode()
        given = ctx.secrets.get(SSSD_CONF, b"")
        if not given:
            raise PermanentError(
                "SecretMissing",
                "The site names people by SSSD and has no secret sssd-conf.",
                hint="Put the whole sssd.conf in with `manage.py site_secret`.",
            )
        return given

    def _switch(self) -> tuple[Wanted, ...]:
        if self._settings.identity != FILES:
            return ()
        text = {names.SWITCH_FILE: conf.SWITCH}
        return (objects.config_map(names.SWITCH, text, namespace=names.NAMESPACE),)


def _console() -> Wanted:
    bound = {
        "roleRef": {"apiGroup": rights.GROUP, "kind": "ClusterRole", "name": rights.CONSOLE},
        "subjects": [
            {"kind": "ServiceAccount", "name": rights.ACCOUNT.name, "namespace": rights.ACCOUNT.namespace}
        ],
    }
    made = objects.manifest(kinds.ROLE_BINDING, rights.CONSOLE, bound, namespace=names.NAMESPACE)
    return Wanted(kinds.ROLE_BINDING, made)


def slurm_key(jwt_key: bytes, cluster: str) -> bytes:
    """Slurm's own key, derived: the same cluster always has the same one, and nothing has to be kept."""
    about = b"freehold slurm.key of " + cluster.encode()
    return HKDF(SHA512(), KEY_BYTES, salt=None, info=about).derive(jwt_key)


def _key(name: str, value: Mapping[str, bytes]) -> Wanted:
    return objects.secret(name, value, namespace=names.NAMESPACE, immutable=True)


class OperatorsStep(InstalledStep):
    """cert-manager, Slinky's kinds and its operator, by the site's GitOps controller."""

    name = "addons"
    component = "Slinky"
    system = "the site's GitOps"
    needs: tuple[str, ...] = ("gitops", "nodes", "slurm-keys")
    deadline = dt.timedelta(minutes=20)

    def __init__(
        self, settings: SlinkySettings, installer: Installer, clients: Clients, tenants: Clients
    ) -> None:
        super().__init__(installer, clients, tenants)
        self._settings = settings

    def describe(self, spec: ClusterSpec) -> tuple[str, ...]:
        """See Step."""
        del spec
        return tuple(f"{one.chart} {one.version}" for one in values.operators(self._settings))

    def releases(self, ctx: StepContext) -> tuple[Release, ...]:
        """See InstalledStep."""
        del ctx
        return values.operators(self._settings)

    def works(self, ctx: StepContext, client: KubeClient) -> Readiness:
        """The operator and its webhook run: before that an object of Slurm's would be refused."""
        del ctx
        found = by_name(client, kinds.DEPLOYMENT, names.OPERATOR)
        return workloads_ready(found, "slurm-operator", "slurm-operator-webhook")


class HomeStep(ObjectsStep):
    """One volume that all nodes of the cluster share. It goes, with what is in it, when the cluster goes."""

    name = "home"
    component = "Kubernetes"
    system = TENANT
    needs: tuple[str, ...] = ("slurm-keys",)
    deadline = dt.timedelta(minutes=15)

    def __init__(self, settings: SlinkySettings, clients: Clients) -> None:
        super().__init__(clients)
        if settings.home is None:
            raise PermanentError(
                "BadSiteSettings",
                "The site names a driver for home and no storage class for it.",
                hint="Give slinky.home.storage_class, or take home out of the site's drivers.",
            )
        self._home = settings.home

    def describe(self, spec: ClusterSpec) -> tuple[str, ...]:
        """See Step."""
        del spec
        return (
            f"a shared volume of {self._home.size} for home folders, of class {self._home.storage_class}",
        )

    def scopes(self, ctx: StepContext) -> tuple[Scope, ...]:
        """See ObjectsStep."""
        del ctx
        return (Scope(kinds.CLAIM, names.NAMESPACE),)

    def wanted(self, ctx: StepContext) -> tuple[Wanted, ...]:
        """See ObjectsStep."""
        del ctx
        spec = {
            "accessModes": ["ReadWriteMany"],
            "storageClassName": self._home.storage_class,
            "resources": {"requests": {"storage": self._home.size}},
        }
        body = objects.manifest(kinds.CLAIM, names.HOME, {"spec": spec}, namespace=names.NAMESPACE)
        return (Wanted(kinds.CLAIM, body, ready=self._bound),)

    def facts(self, ctx: StepContext, found: Mapping[Ref, Manifest]) -> Mapping[str, str]:
        """See ObjectsStep."""
        del ctx, found
        return {"volume": names.HOME, "size": self._home.size}

    def _bound(self, found: Manifest) -> Readiness:
        phase = str((found.get("status") or {}).get("phase", "Pending"))
        if phase == "Bound" or (phase == "Pending" and self._home.binds_late):
            return READY
        return Readiness(False, "VolumeNotBound", f"The volume {names.HOME} is {phase}.")


class AccountingStep(CheckedStep):
    """slurmdbd's password, and without a chart slurmdbd itself. The database stays when the cluster goes."""

    name = "accounting"
    component = "Slinky"
    system = TENANT
    needs: tuple[str, ...] = ("slurm-keys", "addons")
    deadline = dt.timedelta(minutes=15)

    def __init__(self, settings: SlinkySettings, clients: Clients, tenants: Clients, *, direct: bool) -> None:
        super().__init__(clients, tenants)
        if settings.database is None:
            raise PermanentError(
                "BadSiteSettings",
                "The site names a driver for accounting and no database for it.",
                hint="Give slinky.database, or take accounting out of the site's drivers.",
            )
        self._settings = settings
        self._database = settings.database
        self._direct = direct

    def describe(self, spec: ClusterSpec) -> tuple[str, ...]:
        """See Step."""
        database = shapes.storage(spec, self._database)["database"]
        return (f"accounting in database {database} on {self._database.host}",)

    def scopes(self, ctx: StepContext) -> tuple[Scope, ...]:
        """See ObjectsStep."""
        del ctx
        mine = (Scope(kinds.SECRET, names.NAMESPACE),)
        return (*mine, Scope(names.ACCOUNTING, names.NAMESPACE)) if self._direct else mine

    def wanted(self, ctx: StepContext) -> tuple[Wanted, ...]:
        """See ObjectsStep."""
        password = ctx.secrets.get(PASSWORD, b"")
        if not password:
            raise PermanentError(
                "SecretMissing",
                "The site has no secret slurm-db-password.",
                hint="Put it in with `manage.py site_secret`.",
            )
        secret = objects.secret(
            names.DATABASE, {names.DATABASE_KEY: password.strip()}, namespace=names.NAMESPACE
        )
        if not self._direct:
            return (secret,)
        return (secret, shapes.accounting(ctx.spec, self._database, self._settings))

    def works(self, ctx: StepContext, client: KubeClient) -> Readiness:
        """Where a chart makes slurmdbd, the step "slurm" looks at it."""
        del ctx
        if not self._direct:
            return READY
        found = by_name(client, kinds.STATEFUL_SET, names.NAMESPACE)
        return workloads_ready(found, f"{names.RELEASE}-accounting")
