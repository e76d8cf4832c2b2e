"""Hands scripts to the real sbatch and to Freehold, and reads both jobs' records back."""

from __future__ import annotations

import datetime as dt
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from clusters.clients.slurmrest.errors import SlurmRefused
from jobs.observer.marks import split_mark
from jobs.parsing.environment import safe_environment
from jobs.services.capacity import ClusterView
from jobs.services.drafts import DraftRefused, Typed, read_draft
from jobs.services.requests import assemble
from tests.contract.slurmrest.lab import SlurmLab
from tests.differential import known

MARK = "abcdefghijkl"
LOOP = (
    'export PATH="$0"; for f in "$@"; do sbatch --parsable "$f" >"$f.id" 2>"$f.err"; echo "$?" >"$f.rc"; done'
)
_KEY = re.compile(r"(?:^| )([A-Z][A-Za-z/:]*(?:_[A-Za-z]+)*)=")

Record = Mapping[str, str]


@dataclass(slots=True)
class Outcome:
    """What became of one script on one way: the records of its job, or why there is none."""

    records: list[Record] = field(default_factory=list)  # several of a heterogeneous job
    refused: str = ""
    job_id: int = 0


def by_sbatch(lab: SlurmLab, scripts: Mapping[str, str], variables: Mapping[str, str]) -> dict[str, Outcome]:
    """All scripts by name, handed in as a member from his home; one shell for all of them."""
    home, who = lab.home(), lab.members[0]
    for name, text in scripts.items():
        path = home / name
        path.write_text(text, newline="")
        os.chown(path, who.uid, who.gid)
    # PATH is set inside: nsenter and chroot are sought in it, too
    others = {name: value for name, value in variables.items() if name != "PATH"}
    lab.run(["bash", "-c", LOOP, variables["PATH"], *scripts], member=0, cwd=home, variables=others)
    found: dict[str, Outcome] = {}
    for name in scripts:
        told = (home / f"{name}.id").read_text().strip()
        error = (home / f"{name}.err").read_text()
        found[name] = Outcome(job_id=int(told)) if told.isdigit() else Outcome(refused=error or "no id")
    return found


def by_freehold(lab: SlurmLab, scripts: Mapping[str, str], *, version: str = "") -> dict[str, Outcome]:
    """The same scripts read, checked and sent as the portal does it."""
    spoken = version or lab.versions[0]
    gateway = lab.gateway(version=spoken)
    view = ClusterView((), max_array_size=1001, api=spoken, release=gateway.ping().release)
    found: dict[str, Outcome] = {}
    for name, text in scripts.items():
        typed = Typed(upload=text.encode(), upload_name=name)
        try:
            draft = read_draft(typed, view)
            request, _origins = assemble(draft, account=lab.members[0].name, home=str(lab.home()), mark=MARK)
            result = gateway.submit(request)
        except DraftRefused as error:
            found[name] = Outcome(refused=f"{error.fields}")
        except (SlurmRefused, ValueError) as error:
            found[name] = Outcome(refused=str(error))
        else:
            found[name] = Outcome(job_id=result.job_id)
    return found


def variables_of(lab: SlurmLab) -> dict[str, str]:
    """The environment that a job gets from Freehold, for sbatch to run in."""
    return safe_environment(account=lab.members[0].name, home=str(lab.home())) | {"TZ": "UTC"}


def add_records(lab: SlurmLab, outcomes: Sequence[Outcome]) -> None:
    """Read the records of all jobs at once."""
    shown = lab.command("scontrol", "-d", "-o", "show", "job")
    records = [_record(line) for line in shown.splitlines() if line.startswith("JobId=")]
    for outcome in outcomes:
        ids = {str(outcome.job_id)} if outcome.job_id else set()
        outcome.records = [
            one
            for one in records
            if one["JobId"] in ids or one.get("HetJobId") in ids or one.get("ArrayJobId") in ids
        ]


def _record(line: str) -> Record:
    keys = list(_KEY.finditer(line))
    ends = [key.start() for key in keys[1:]] + [len(line)]
    record = {key[1]: line[key.end() : end].strip() for key, end in zip(keys, ends, strict=True)}
    for name in ("StdIn", "StdOut", "StdErr"):  # the job's own number is in their names
        own = record.get("ArrayJobId", record["JobId"])
        folder, slash, file = record.get(name, "").rpartition("/")
        if slash:
            record[name] = folder + slash + re.sub(rf"(?<![A-Za-z0-9]){own}(?![A-Za-z0-9])", "ID", file)
    return record


def differences(theirs: Outcome, ours: Outcome, *, version: str) -> list[str]:
    """What differs beyond what is known to; a job on one side only is a difference, too."""
    if bool(theirs.records) != bool(ours.records):
        return [f"sbatch: {theirs.refused or 'took it'}", f"Freehold: {ours.refused or 'took it'}"]
    if len(theirs.records) != len(ours.records):
        return [f"{len(theirs.records)} records by sbatch, {len(ours.records)} by Freehold"]
    may_differ = set(known.FIELDS)
    if version in {"v0.0.40", "v0.0.41"}:
        may_differ |= set(known.FIELDS_OF_OLD_API)
    found: list[str] = []
    for their, our in zip(_sorted(theirs.records), _sorted(ours.records), strict=True):
        told = dict(our)
        comment, _mark = split_mark(told.pop("Comment", ""))
        if comment:
            told["Comment"] = comment
        found += [
            f"{key}: sbatch {their.get(key)!r}, Freehold {told.get(key)!r}"
            for key in sorted({*their, *told} - may_differ)
            if not _same(key, their.get(key), told.get(key))
        ]
    return found


def _same(key: str, one: str | None, other: str | None) -> bool:
    if one == other:
        return True
    if key not in known.MOMENTS or not one or not other:
        return False
    try:
        apart = dt.datetime.fromisoformat(one) - dt.datetime.fromisoformat(other)
    except ValueError:  # Unknown, N/A
        return False
    return abs(apart.total_seconds()) < known.SECONDS


def _sorted(records: Sequence[Record]) -> list[Record]:
    return sorted(records, key=lambda one: int(one.get("HetJobOffset", "0")))
