"""The same script through sbatch and through Freehold makes the same job, field by field."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping

import pytest

from jobs.parsing.options import OPTIONS, Target
from tests.cases import case
from tests.contract.slurmrest.lab import SlurmLab
from tests.contract.slurmrest.places import RELEASES
from tests.differential import both, generator, known

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("parity")]

QUICK, SEED = 64, 20261130
LONG, ROUNDS = 100, 4
HEAD = "#!/bin/bash\n#SBATCH --hold\n"
# what the clusters of the test do not have, and what needs another option to make sense
NEEDS = {
    "ntasks-per-gpu": "--gpus=2",
    "ntasks-per-tres": "--gpus=2",
    "cpus-per-gpu": "--gpus=2",
    "mem-per-gpu": "--gpus=2",
    "gpu-bind": "--gpus=2",
    "gpu-freq": "--gpus=2",
    "tres-bind": "--gres=gpu:1",
    "gpus-per-task": "--ntasks=2",
    "gpus-per-socket": "--sockets-per-node=1",
    "tres-per-task": "--ntasks=2",
    "batch": "--constraint=fast",
    "contiguous": "--nodes=2",
}
# forms that people seldom write and every one of these clients takes, or none does
ODD_FORMS = [
    "-N2 -n4 -c2",
    "-HkO -n 2",
    "-Hpdebug -t5 # why",
    "--gpus=a100",
    "--gpus=a100=2",
    "--gpus-per=1",
    "--array=[0-3]%2",
    "--array=[0-3%2]",
    "--dependency=1",
    "--dependency=AfterOK:1",
    "--open-mode=APPEND",
    "--profile=all,task",
    "--acctg-freq=bogus=1",
    "--get-user-env=x",
    "--begin=2031-1-20T1:34",
    "--cpu-freq=bogus",
    "--hold \\",
    "--time 5 --nodes 1 # comment --hold=x",
    "-w HOSTS[1-2] -n1",
    "-w HOSTS[1-2] -n1 -N2",
    "-w HOSTS[1-2] -N1 -c2",
    "-w HOSTS[1-2] -N1-2",
    "-m arbitrary -w HOSTS[1-2]",
    "--tres-per-task=gres:gpu:a100:1 -n2",
    "--tres-per-task=cpu=2,mem=100",
]
REFUSED_BY_BOTH = [
    "--bogus",
    "--exp=ALL",
    "--nodes",
    "train",
    "-y 3",
    "--hold=1",
    "--mem=1.5G",
    "--mem=16XB",
    "--mem=1G --mem-per-cpu=1G",
    "--time=abc",
    "--time=1:2:3:4",
    "--ntasks=0",
    "--cpus-per-task=0",
    "--nodes=2-1",
    "--array=0-2000",
    "--begin=yesterday",
    "--deadline=now+1hour --begin=now+2hours",
    "--signal=BOGUS",
    "--mail-type=BOGUS",
    "--open-mode=x",
    "--exclusive=bogus",
    "--wait-all-nodes=2",
    "--profile=bogus",
    "--hint=bogus",
    "--distribution=bogus",
    "--gres-flags=bogus",
    "--kill-on-invalid-dep=maybe",
    "--switches=0",
    "--gres=nope:1",
    "--partition=nope",
    "--constraint=nope",
    "--nodelist=nope",
    "--licenses=nope:1",
    "--gpus-per-task=1",
    "--core-spec=1 --thread-spec=1",
    "--job-name='open",
    ": -N1",
]


def check(lab: SlurmLab, scripts: Mapping[str, str], *, version: str = "") -> int:
    """Compare all; how many made a job on both sides. Raises AssertionError with every difference."""
    theirs = both.by_sbatch(lab, scripts, both.variables_of(lab))
    ours = both.by_freehold(lab, scripts, version=version)
    both.add_records(lab, [*theirs.values(), *ours.values()])
    try:
        found = {
            name: different
            for name in scripts
            if not known.is_stricter(ours[name].refused)
            and (different := both.differences(theirs[name], ours[name], version=version or lab.versions[0]))
        }
    finally:
        lab.command("scancel", "--user", lab.members[0].name)
    told = "\n\n".join(f"{scripts[name]}{chr(10).join(lines)}" for name, lines in found.items())
    assert not found, f"{len(found)} of {len(scripts)} scripts differ on {lab.release}:\n{told}"
    return sum(bool(theirs[name].records and ours[name].records) for name in scripts)


def numbered(scripts: Iterable[str], prefix: str) -> dict[str, str]:
    """With the names of the files."""
    return {f"{prefix}{index}.sh": text for index, text in enumerate(scripts)}


def target_of(lab: SlurmLab, version: str = "") -> Target:
    """As the portal knows the cluster."""
    return Target.of(version or lab.versions[0], lab.gateway().ping().release)


@case("U01", "U04", "U06")
@pytest.mark.parametrize("release", RELEASES)
def test_generated_scripts_make_the_same_job(parity_lab: Callable[[str], SlurmLab], release: str) -> None:
    lab = parity_lab(release)
    made = generator.scripts(SEED, QUICK, target_of(lab), f"{lab.name}-n1")
    assert check(lab, numbered(made, "g")) >= QUICK // 2


@pytest.mark.parametrize("release", RELEASES)
def test_each_option_alone_makes_the_same_job(parity_lab: Callable[[str], SlurmLab], release: str) -> None:
    lab = parity_lab(release)
    scripts = {}
    for option in OPTIONS:
        if option.field and option.is_known_to(target_of(lab)):
            needed = f"#SBATCH {NEEDS[option.name]}\n" if option.name in NEEDS else ""
            written = option.written.replace("n1,n[3-5]", f"{lab.name}-n1").replace("=n2", f"={lab.name}-n2")
            scripts[f"{option.name}.sh"] = f"{HEAD}{needed}#SBATCH {written}\nhostname\n"
    lines = (line.replace("HOSTS", f"{lab.name}-n") for line in ODD_FORMS)
    scripts |= numbered((f"{HEAD}#SBATCH {line}\nhostname\n" for line in lines), "odd")
    assert check(lab, scripts) > 70


@pytest.mark.parametrize("release", RELEASES)
def test_what_sbatch_refuses_is_refused(parity_lab: Callable[[str], SlurmLab], release: str) -> None:
    lab = parity_lab(release)
    scripts = numbered((f"{HEAD}#SBATCH {line}\nhostname\n" for line in REFUSED_BY_BOTH), "r")
    scripts |= {
        "cr.sh": "#!/bin/bash\n\0echo\n",
        "blank.sh": " \n",
        "plain.sh": "echo hello\n",
        "empty.sh": "",
    }
    theirs = both.by_sbatch(lab, scripts, both.variables_of(lab))
    ours = both.by_freehold(lab, scripts)
    lab.command("scancel", "--user", lab.members[0].name)
    assert {name: scripts[name] for name, one in theirs.items() if not one.refused} == {}
    assert {name: scripts[name] for name, one in ours.items() if not one.refused} == {}


@pytest.mark.parametrize("release", RELEASES[1:])
def test_older_versions_of_the_api_make_the_same_jobs(
    parity_lab: Callable[[str], SlurmLab], release: str
) -> None:
    lab = parity_lab(release)
    for index, version in enumerate(lab.versions[1:]):
        made = generator.scripts(SEED + index, 16, target_of(lab, version), f"{lab.name}-n1")
        assert check(lab, numbered(made, f"v{index}"), version=version) >= 8


@pytest.mark.soak
@pytest.mark.parametrize("release", RELEASES)
def test_hundreds_of_scripts_make_the_same_jobs(parity_lab: Callable[[str], SlurmLab], release: str) -> None:
    lab = parity_lab(release)
    first = int(os.environ.get("FREEHOLD_SEED", "0"))
    for turn in range(first, first + ROUNDS):
        made = generator.scripts(turn, LONG, target_of(lab), f"{lab.name}-n1")
        assert check(lab, numbered(made, f"s{turn}x")) >= LONG // 2
