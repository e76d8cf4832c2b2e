"""`python -m tests.kube.helm FOLDER`: tries charts that lie in a folder, each unpacked in its own.

For those that only registries have (slurm, slurm-operator, gpu-operator, volcano, cert-manager): `helm pull
--untar` brings them. Ends with 1 if a server refuses an object, or a value that a driver sends is in vain.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from clusters.clients.kube import errors
from setup import kube
from tests.kube import crds
from tests.kube.helm import check, render, sent
from tests.kube.server import KubeServer


def main(folder: Path) -> int:
    """Look at each release whose chart is there, and tell what is wrong."""
    programs = {**kube.find(render.ROOT), **kube.find(render.ROOT, kube.HELM)}
    server = KubeServer(programs)
    trouble = 0
    try:
        server.start(crds.store(programs))
        for one in sent.distinct(sent.every_release()):
            chart = check.Chart(programs["helm"], folder / one.release.chart)
            if not (chart.folder / "Chart.yaml").is_file():
                sys.stdout.write(f"{one.id}: no chart in the folder\n")
                continue
            found = [*_refused(server, chart, one), *_in_vain(chart, one)]
            sys.stdout.write("".join(f"{one.id}: {line}\n" for line in found or ["fine"]))
            trouble += bool(found)
    finally:
        server.stop()
    return 1 if trouble else 0


def _refused(server: KubeServer, chart: check.Chart, one: sent.Sent) -> Iterator[str]:
    try:
        manifests = chart.objects(one.release)
    except render.Refused as error:
        yield f"the chart refuses the values: {error}"
        return
    for manifest in manifests:
        try:
            check.apply(server, (manifest,), one.release.namespace)
        except (AssertionError, errors.Invalid) as error:
            yield f"{manifest['kind']} {manifest['metadata']['name']}: {error}"


def _in_vain(chart: check.Chart, one: sent.Sent) -> Iterator[str]:
    try:
        yield from (f"{path} makes no difference" for path in chart.in_vain(one.release))
    except render.Refused:
        return  # said already


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(Path(sys.argv[1])))
