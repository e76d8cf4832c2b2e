"""An order in the whole portal ends with a kubeconfig that works for its own cluster, until it is revoked."""

from __future__ import annotations

import base64
import json
import re
import subprocess
import uuid
from dataclasses import dataclass
from pathlib import Path

import requests
import yaml

from tests.cases import case
from tests.e2e.hands import Hands
from tests.e2e.supervised import Portal
from tests.e2e.waiting import until
from tests.kube import assets

TOKEN = re.compile(r'name="csrfmiddlewaretoken" value="(\w+)"')
REVOKED_WITHIN = 60.0  # seconds


@dataclass(frozen=True, slots=True)
class Holder:
    """A tenant's owner with a cluster of demo machines, whole GiB each, and the file for it."""

    slug: str
    cluster: str
    browser: requests.Session
    file: Path

    def content(self) -> dict[str, str]:
        """Server, CA and token of the file."""
        found = yaml.safe_load(self.file.read_bytes())
        server = found["clusters"][0]["cluster"]
        return {
            "server": server["server"],
            "ca": server["certificate-authority-data"],
            "token": found["users"][0]["user"]["token"],
        }


def send(portal: Portal, browser: requests.Session, path: str, form: str, **fields: str) -> requests.Response:
    """Send the form on page `form` to `path`, as a browser does."""
    token = TOKEN.search(browser.get(f"{portal.url}{form}", timeout=60).text)
    assert token is not None, form
    headers = {"Origin": portal.url, "Referer": f"{portal.url}{form}"}
    data = {"csrfmiddlewaretoken": token[1], **fields}
    return browser.post(f"{portal.url}{path}", data=data, headers=headers, allow_redirects=False, timeout=60)


def holder_of(portal: Portal, hands: Hands, folder: Path, name: str, *, nodes: int) -> Holder:
    """Order, wait until every step is ready, download."""
    word = uuid.uuid4().hex[:6]
    slug, subject = f"{name}-{word}", f"{name}-{word}"
    hands.do("found", subject=subject, slug=slug)
    cluster = hands.approved(subject, slug, f"gpu-{word}", nodes=nodes)
    query = "SELECT name, reason, message FROM clusters_stepstate WHERE cluster_id = %s AND status <> 'ready'"
    hands.wait_for(cluster, "ready")
    until(lambda: not portal.rows(query, cluster), "every step is ready", seconds=180)
    browser = requests.Session()
    browser.cookies.set("sessionid", hands.do("cookie", subject=subject)["sessionid"])
    own = f"/t/{slug}/clusters/{cluster}"
    answer = send(portal, browser, f"{own}/kubeconfigs/", f"{own}/access/", hours="8")
    assert answer.status_code == 200, answer.text
    assert "no-store" in answer.headers["Cache-Control"]
    assert "attachment" in answer.headers["Content-Disposition"]
    file = folder / f"{slug}.yaml"
    file.write_bytes(answer.content)
    return Holder(slug, cluster, browser, file)


def nodes_seen(holder: Holder) -> set[str]:
    """What kubectl lists with nothing but the file."""
    found = subprocess.run(
        [str(assets.programs()["kubectl"]), "--kubeconfig", str(holder.file), "get", "nodes", "-o", "json"],
        capture_output=True,
        check=True,
        timeout=60,
        env={"HOME": str(holder.file.parent)},
    )
    return {node["metadata"]["name"] for node in json.loads(found.stdout)["items"]}


def machines(portal: Portal, holder: Holder) -> set[str]:
    """Of the order."""
    rows = portal.rows(
        "SELECT m.name FROM clusters_machine m JOIN clusters_allocation a ON a.machine_id = m.id"
        " JOIN clusters_nodepool p ON p.id = a.pool_id WHERE p.cluster_id = %s AND a.released_at IS NULL",
        holder.cluster,
    )
    return {str(name) for (name,) in rows}


def status(holder: Holder, folder: Path, *, token: str = "") -> int:
    """Of a call to the holder's server with its CA, with the own or another token."""
    content = holder.content()
    ca = folder / f"{holder.slug}.crt"
    ca.write_bytes(base64.b64decode(content["ca"]))
    headers = {"Authorization": f"Bearer {token or content['token']}"}
    answer = requests.get(f"{content['server']}/api/v1/nodes", headers=headers, verify=str(ca), timeout=60)
    return answer.status_code


@case("U34")
def test_a_kubeconfig_opens_its_own_cluster_only_until_it_is_revoked(
    portal: Portal, hands: Hands, tmp_path: Path
) -> None:
    mine = holder_of(portal, hands, tmp_path, "kim", nodes=2)
    other = holder_of(portal, hands, tmp_path, "lou", nodes=1)
    assert nodes_seen(mine) == machines(portal, mine)
    assert nodes_seen(other) == machines(portal, other)
    assert (len(nodes_seen(mine)), len(nodes_seen(other))) == (2, 1)
    assert nodes_seen(mine).isdisjoint(nodes_seen(other))

    assert status(mine, tmp_path) == 200
    assert status(other, tmp_path) == 200
    assert status(other, tmp_path, token=mine.content()["token"]) == 401

    grant = portal.value("SELECT id FROM clusters_kubeconfiggrant WHERE cluster_id = %s", mine.cluster)
    own = f"/t/{mine.slug}"
    answer = send(
        portal, mine.browser, f"{own}/kubeconfigs/{grant}/revoke/", f"{own}/clusters/{mine.cluster}/access/"
    )
    assert answer.status_code == 302, answer.text
    until(lambda: status(mine, tmp_path) == 401, "the revoked file is refused", seconds=REVOKED_WITHIN)
    assert status(other, tmp_path) == 200
