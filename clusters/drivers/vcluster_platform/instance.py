"""The control-plane step: a Project and a VirtualClusterInstance of a template, per tenant's cluster."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from clusters.clients.kube.models import Manifest, Ref
from clusters.drivers.vcluster_platform import licence, parameters, progress
from clusters.drivers.vcluster_platform.kinds import INSTANCE, PROJECT, SELF, TEMPLATE
from clusters.drivers.vcluster_platform.parameters import Template
from clusters.drivers.vcluster_platform.settings import PlatformSettings, nodes_of
from clusters.kube.objects import Wanted, manifest
from clusters.kube.sinks import Batch, Scope, Seen
from clusters.kube.site_settings import bad, filled
from clusters.kube.step import Clients, ObjectsStep
from clusters.provisioning.steps import ClusterSpec, Observed, StepContext
from portal.lib.errors import PermanentError

HIDDEN = "spec.parameters"


class InstanceStep(ObjectsStep):
    """Template and licence are read once; a step lives for one pass of the engine."""

    name = "control-plane"
    component = "vCluster Platform"
    system = "the vCluster Platform"
    needs: tuple[str, ...] = ("machines", "fabric")
    deadline = dt.timedelta(minutes=30)

    def __init__(self, settings: PlatformSettings, clients: Clients) -> None:
        super().__init__(clients)
        self._settings = settings
        self._template: Template | None = None
        self._features: frozenset[str] | None = None
        self._asked_licence = False

    def describe(self, spec: ClusterSpec) -> tuple[str, ...]:
        """One line per thing that this step will make, for the plan on the approval page."""
        version = f" {self._settings.version}" if self._settings.version else ""
        return (
            f"project {spec.name}",
            f"virtual cluster {spec.name} of template {self._settings.template}{version}",
        )

    def scopes(self, ctx: StepContext) -> tuple[Scope, ...]:
        """The project, and its namespace."""
        return (Scope(PROJECT), Scope(INSTANCE, self._settings.namespace(ctx.spec)))

    def wanted(self, ctx: StepContext) -> tuple[Wanted, ...]:
        """Raises PermanentError where the template is not there, not licensed, or refuses the values."""
        template = self._read_template(ctx)
        allowed = self._read_licence(ctx)
        if lacks := licence.missing(template, allowed, version=self._settings.version):
            raise PermanentError(
                "NotLicensed",
                f"The Platform's licence does not have what the template needs: {', '.join(lacks)}.",
                hint="Choose another template in the site's settings, or extend the licence.",
            )
        with_quotas = self._settings.quotas and allowed is not None and licence.QUOTAS in allowed
        secret = (HIDDEN,) if self._has_password(template) else ()
        return (
            Wanted(PROJECT, self._project(ctx.spec, with_quotas=with_quotas)),
            Wanted(INSTANCE, self._instance(ctx.spec, template), ready=progress.ready, secret=secret),
        )

    def facts(self, ctx: StepContext, found: Mapping[Ref, Manifest]) -> Mapping[str, str]:
        """Where the API server is, and how far the Platform is with it."""
        instance = found.get(self._ref(ctx.spec)) or {}
        status = instance.get("status") or {}
        told = {
            "endpoint": self._settings.address(ctx.spec),
            "phase": str(status.get("phase") or ""),
            "progress": progress.told(instance) if instance else "",
            "version": str(status.get("kubernetesVersion") or ""),
        }
        return {name: text for name, text in told.items() if text}

    # -- what the Platform gave up

    def _judge(self, ctx: StepContext, batch: Batch, seen: Seen, live: Seen) -> Observed:
        """As ObjectsStep; what the Platform gave up is out of sync, so that apply says so."""
        told = super()._judge(ctx, batch, seen, live)
        failed = progress.failure(live.ours.get(self._ref(ctx.spec)) or {})
        if told.exists and failed is not None:
            facts = {**told.facts, "failed": failed.message}
            why = (failed.reason, failed.message) if told.in_sync else (told.reason, told.message)
            return replace(told, in_sync=False, ready=False, reason=why[0], message=why[1], facts=facts)
        return told

    def apply(self, ctx: StepContext) -> None:
        """See Step. What the Platform gave up is said once nothing of ours is left to change."""
        batch = self.batch(ctx)
        self._check_prefix(ctx)
        before = self.sink(ctx).read(batch)
        self.sink(ctx).apply(batch)
        failed = progress.failure(before.ours.get(self._ref(ctx.spec)) or {})
        if failed is not None and super()._judge(ctx, batch, before, before).in_sync:
            raise failed

    def _check_prefix(self, ctx: StepContext) -> None:
        """The Platform names projects' namespaces; a wrong guess would wait for ever for one of them."""
        asked = {"apiVersion": SELF.api_version, "kind": SELF.kind, "metadata": {"name": ""}}
        status = self.client(ctx).create(asked, SELF).get("status") or {}
        found = status.get("projectNamespacePrefix")
        if isinstance(found, str) and found != self._settings.namespace_prefix:
            raise bad("vcluster_platform.namespace_prefix", f"is not the Platform's, which is {found}")

    # -- the objects

    def _project(self, spec: ClusterSpec, *, with_quotas: bool) -> Manifest:
        settings = self._settings
        allowed = {"kind": TEMPLATE.kind, "group": "storage.loft.sh", "name": settings.template}
        body: dict[str, Any] = {
            "displayName": f"{spec.tenant}/{spec.name}",
            "allowedTemplates": [{**allowed, "isDefault": True}],
            "allowedNodeTypes": [{"name": name} for name in sorted(self._node_types(spec))],
            **({"owner": dict(settings.owner)} if settings.owner else {}),
            **({"allowedClusters": [{"name": settings.cluster}]} if settings.cluster else {}),
        }
        if with_quotas:
            body["quotas"] = {"project": {"virtualclusterinstances": "1", "nodeclaims": str(nodes_of(spec))}}
        return manifest(PROJECT, spec.name, {"spec": body}, labels=self._labels(spec))

    def _instance(self, spec: ClusterSpec, template: Template) -> Manifest:
        settings = self._settings
        version = {"version": settings.version} if settings.version else {}
        body: dict[str, Any] = {
            "displayName": f"{spec.tenant}/{spec.name}",
            "templateRef": {"name": settings.template, **version},
            "parameters": self._parameters(spec, template),
            **({"owner": dict(settings.owner)} if settings.owner else {}),
        }
        if settings.cluster:
            place = {"cluster": settings.cluster, "namespace": settings.host_namespace(spec)}
            body["clusterRef"] = {**place, "virtualCluster": spec.name}
        return manifest(
            INSTANCE, spec.name, {"spec": body}, namespace=settings.namespace(spec), labels=self._labels(spec)
        )

    def _parameters(self, spec: ClusterSpec, template: Template) -> str:
        given = self._settings.given(spec)
        chosen = {name: value for name, value in spec.parameters.items() if name not in given}
        checked = parameters.validate(
            {**chosen, **given}, template, version=self._settings.version, fixed=given.keys()
        )
        if checked.errors:
            wrong = "; ".join(f"{name}: {why}" for name, why in sorted(checked.errors.items()))
            raise PermanentError(
                "BadParameters",
                f"The template refuses what the cluster is to be made with. {wrong}",
                hint="Compare the template with the site's setting vcluster_platform.parameters.",
            )
        return parameters.rendered(checked.values)

    def _node_types(self, spec: ClusterSpec) -> set[str]:
        types = self._settings.node_types
        return {types[pool.flavor.name] for pool in spec.pools if pool.flavor.name in types}

    def _labels(self, spec: ClusterSpec) -> dict[str, str]:
        return {name: filled(value, spec) for name, value in self._settings.labels.items()}

    def _has_password(self, template: Template) -> bool:
        every = parameters.fields_of(template, version=self._settings.version)
        return any(one.kind == "password" for one in every)

    def _ref(self, spec: ClusterSpec) -> Ref:
        return Ref(INSTANCE, spec.name, self._settings.namespace(spec))

    # -- what is read once

    def _read_template(self, ctx: StepContext) -> Template:
        if self._template is None:
            self._template = self.client(ctx).get(Ref(TEMPLATE, self._settings.template))
        if self._template is None:
            raise PermanentError(
                "TemplateMissing",
                f"The Platform has no template {self._settings.template}.",
                hint="Make it there, or correct vcluster_platform.template in the site's settings.",
            )
        return self._template

    def _read_licence(self, ctx: StepContext) -> frozenset[str] | None:
        if not self._asked_licence:
            self._features = licence.features(self.client(ctx))
            self._asked_licence = True
        return self._features
