"""The values of the chart are what the vendor's own schema knows; a commit leads to the same cluster."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from clusters.clients.kube.client import KubeClient
from clusters.drivers.vcluster_gitops import GitOpsSettings, ReleaseStep, repository
from clusters.drivers.vcluster_gitops.settings import REFUSED, Git
from clusters.drivers.vcluster_gitops.values import merged, values
from clusters.kube import kinds
from clusters.kube.renderers import argo
from clusters.provisioning.steps import PoolSpec, StepContext
from portal.lib.errors import PermanentError
from portal.lib.types import JSONDict
from tests.clusters.kube.test_git import Repository
from tests.contract.driver_contract import drive_away, settle
from tests.contract.kube.driven import FLAVOR, spec_of
from tests.contract.kube.drivers.vcluster_gitops import SECTION, settings_of
from tests.kube import roles
from tests.kube.gitops import Follower
from tests.kube.server import KubeServer
from tests.kube.values import check_vcluster_values
from tests.kube.vendor_kinds import argo_cd
from tests.kube.vendors import Hands, Namespaces, Running

MINIMAL: JSONDict = {
    "vcluster_gitops": {"public_address": "https://{cluster}.example.com"},
    "delivery": {"controller": "argo"},
}


def site(has_fabric: bool = True, **other: Any) -> GitOpsSettings:
    return GitOpsSettings.from_site(
        {**MINIMAL, "vcluster_gitops": MINIMAL["vcluster_gitops"] | other}, has_fabric=has_fabric
    )


def test_what_a_site_must_say_is_enough() -> None:
    found = site()
    assert (found.chart_version, found.replicas, found.git, found.vpn) == ("0.36.1", 1, None, False)
    assert site(has_fabric=False).vpn
    assert site(git={"url": "/srv/site.git"}).git == Git("/srv/site.git")


@pytest.mark.parametrize(
    ("wrong", "key"),
    [
        ({"public_address": "http://a"}, "public_address"),
        ({"chart_repo": "ftp://a"}, "chart_repo"),
        ({"chart_version": "latest"}, "chart_version"),
        ({"kubernetes": "1.35"}, "kubernetes"),
        ({"replicas": 2}, "replicas"),
        ({"replicas": True}, "replicas"),
        ({"pod_cidr": "10.0.0.1/8"}, "pod_cidr"),
        ({"service_cidr": None}, "service_cidr"),
        ({"service": "External"}, "service"),
        ({"node_to_node": "yes"}, "node_to_node"),
        ({"values": ["a"]}, "values"),
        ({"values": {"deploy": {"argoCD": {"applications": []}}}}, "values.deploy.argoCD"),
        ({"values": {"experimental": {"deploy": {"host": {}}}}}, "values.experimental.deploy.host"),
        ({"values": {"exportKubeConfig": {"server": "https://a"}}}, "values.exportKubeConfig"),
        ({"git": {"url": "--upload-pack=id"}}, "git.url"),
        ({"git": {"url": "/a", "branch": "-x"}}, "git.branch"),
        ({"git": {"url": "/a", "folder": "../b c"}}, "git.folder"),
        ({"git": {"url": "/a", "key": "x"}}, "git.key"),
        ({"chart": "x"}, "chart"),
    ],
)
def test_the_key_that_is_wrong_is_named(wrong: JSONDict, key: str) -> None:
    with pytest.raises(PermanentError) as refused:
        site(**wrong)
    assert refused.value.reason == "BadSiteSettings"
    assert f"vcluster_gitops.{key} " in refused.value.message


@pytest.mark.parametrize("has_fabric", [True, False])
@pytest.mark.parametrize("nodes", [{}, {"vcluster_nodes": settings_of("argo")["vcluster_nodes"]}])
def test_the_vendors_schema_takes_the_values_and_no_misspelt_one(has_fabric: bool, nodes: JSONDict) -> None:
    settings = GitOpsSettings.from_site(
        {**MINIMAL, "vcluster_gitops": SECTION, **nodes}, has_fabric=has_fabric
    )
    made = values(spec_of(), settings)
    check_vcluster_values(made)
    assert made["privateNodes"]["enabled"] is True
    assert ("vpn" in made["privateNodes"]) is not has_fabric
    assert ("autoNodes" in made["privateNodes"]) is bool(nodes)
    twins = list(_twins(made))
    assert len(twins) > 15
    for twin in twins:
        with pytest.raises(jsonschema.ValidationError):
            check_vcluster_values(twin)


OPEN = frozenset({"nodeLabels", "nodeSelector", "labels", "annotations", "spec"})  # names are the writer's


def _twins(made: JSONDict) -> Iterator[JSONDict]:
    """The values once for each name, with that one misspelt."""

    def places(value: Any, path: tuple[str | int, ...]) -> Iterator[tuple[str | int, ...]]:
        if isinstance(value, dict) and not (path and path[-1] in OPEN):
            for name, below in value.items():
                yield (*path, name)
                yield from places(below, (*path, name))
        elif isinstance(value, list):
            for number, below in enumerate(value):
                yield from places(below, (*path, number))

    for path in places(made, ()):
        if isinstance(path[-1], str):
            yield _renamed(made, path)


def _renamed(value: Any, path: tuple[str | int, ...]) -> Any:
    first, rest = path[0], path[1:]
    if isinstance(value, list):
        return [_renamed(one, rest) if number == first else one for number, one in enumerate(value)]
    if rest:
        return {name: _renamed(one, rest) if name == first else one for name, one in value.items()}
    return {f"{name}x" if name == first else name: one for name, one in value.items()}


def test_nothing_that_a_tenant_typed_gets_into_the_values() -> None:
    spec = spec_of()
    settings = GitOpsSettings.from_site(settings_of("argo"))
    text = str(values(spec, settings))
    assert spec.title not in text
    for path in REFUSED:
        if path != ("exportKubeConfig",):
            assert path[-1] not in text
    evil = PoolSpec("gpu\n  argoCD: {}", FLAVOR, ("m-1",))
    with pytest.raises(PermanentError) as refused:
        values(dataclasses.replace(spec, pools=(evil,)), settings)
    assert refused.value.reason == "BadPoolName"


def test_the_sites_own_values_lie_below_what_the_portal_decides() -> None:
    base = {"privateNodes": {"enabled": False, "daemon": {"enabled": True}}, "telemetry": {"enabled": False}}
    made = values(spec_of(), site(values=base))
    assert made["privateNodes"] == {"enabled": True, "daemon": {"enabled": True}}
    assert made["telemetry"] == {"enabled": False}
    assert merged({"a": {"b": 1}}, {"a": 2}) == {"a": 2}


def test_a_flavor_without_a_node_type_is_said() -> None:
    settings = dataclasses.replace(site(), node_types={"cpu": "dc1.cpu"})
    with pytest.raises(PermanentError) as refused:
        values(spec_of(), settings)
    assert refused.value.reason == "NodeTypeMissing"


# -- credentials of the repository


def test_a_token_goes_by_the_environment_and_a_key_by_a_file_of_ours(tmp_path: Path) -> None:
    secrets = {"site.git-token": b"t0ken", "site.git-key": b"-----BEGIN OPENSSH PRIVATE KEY-----"}
    ctx = StepContext(spec=spec_of(), secrets=secrets)
    https = repository.branch(Git("https://git.example.com/site.git"), ctx, tmp_path)
    assert "t0ken" not in repr(https)
    assert https.environment["GIT_CONFIG_KEY_0"] == "http.https://git.example.com/site.git.extraHeader"
    ssh = repository.branch(
        Git("ssh://git@git.example.com/site.git", known_hosts="git ssh-ed25519 AA"), ctx, tmp_path
    )
    assert "StrictHostKeyChecking=yes" in ssh.environment["GIT_SSH_COMMAND"]
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o600}
    again = repository.branch(
        Git("ssh://git@git.example.com/site.git", known_hosts="git ssh-ed25519 AA"), ctx, tmp_path
    )
    assert again.environment == ssh.environment
    with pytest.raises(PermanentError) as refused:
        repository.branch(Git("https://git.example.com/site.git"), StepContext(spec=spec_of()), tmp_path)
    assert refused.value.reason == "SecretMissing"
    assert "git-token" in refused.value.hint


# -- by commits


@pytest.mark.slow
@pytest.mark.xdist_group("kube")
def test_commits_make_a_control_plane_and_take_it_away(kube_server: KubeServer, tmp_path: Path) -> None:
    theirs = Repository(tmp_path)
    kube_server.ensure_namespace("argocd")
    settings = GitOpsSettings.from_site(settings_of("argo", git={"url": str(theirs.bare)}))
    client = KubeClient(roles.access(kube_server, "argocd"))
    step = ReleaseStep(settings, lambda _: client, cache=tmp_path / "cache")
    order = {"order": {"order": "7", "actor": "Ada"}}
    ctx = StepContext(spec=spec_of(), facts=order)
    follower = Follower(theirs.bare, [kinds.NAMESPACE, argo.PROJECT, argo.APPLICATION])
    with Running(kube_server.client, [follower, argo_cd(), Namespaces()]):
        assert len(step.preview(ctx)) == 3
        settle(step, ctx)
        settle(step, ctx)
        theirs.push({"theirs.yaml": "# somebody else's\n"})
        pool = ctx.spec.pools[0]
        more = dataclasses.replace(pool, machines=(*pool.machines, "m-3"))
        grown = dataclasses.replace(ctx, spec=dataclasses.replace(ctx.spec, pools=(more,)))
        assert step.observe(grown).reason == "Drift"
        settle(step, grown)
        hands = Hands(kube_server.client)
        application = next(one.ref for one in step.batch(grown).wanted if one.kind == argo.APPLICATION)
        follower.paused = True
        assert hands.patch(application, {"spec": {"project": "theirs"}})
        seen = step.observe(grown)
        assert (seen.in_sync, seen.ready, seen.reason) == (True, False, "NotTakenYet")
        follower.paused = False
        settle(step, grown)
        drive_away(step, grown)
    ours = [entry for entry in theirs.log() if entry.strip() != "theirs"]
    assert len(ours) == 3  # made, grown, removed: one commit a change
    assert all("Tenant: acme" in entry and "order 7, actor Ada" in entry for entry in ours)
    assert set(theirs.files()) == {"README.md", "theirs.yaml"}
