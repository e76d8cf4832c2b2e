"""Makes scripts for sbatch from a seed: usual mixtures of options, in all of the ways to write them."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Final

from jobs.parsing.options import OPTIONS, Option, Target

Choose = Callable[[random.Random], str]


def _of(*values: str) -> Choose:
    return lambda chance: chance.choice(values)


# an option: values of it that the test clusters take (NODE is the name of their first node)
VALUES: Final[dict[str, Choose]] = {
    "job-name": _of("train", "two words", "it's", 'a "b" # c', "数据-训练", "x=y", "a|b", "$(id)"),
    "comment": _of("plain", "with # in it", "tab-less; <b>", "ünï"),
    "nodes": _of("1", "2", "1-2", "2-2"),
    "ntasks": _of("1", "2", "3", "4", "7", "8"),
    "ntasks-per-node": _of("1", "2", "3"),
    "ntasks-per-core": _of("1"),
    "ntasks-per-socket": _of("2", "4"),
    "cpus-per-task": _of("1", "2", "3"),
    "mincpus": _of("1", "4"),
    "threads-per-core": _of("1"),
    "sockets-per-node": _of("1"),
    "mem": _of("100", "2G", "1500K", "0", "1GB", "4096M"),
    "mem-per-cpu": _of("100", "200M", "1G"),
    "mem-per-gpu": _of("1G"),
    "tmp": _of("0", "1"),
    "time": _of("5", "1:30", "1:00:00", "0-3", "0-1:30", "0-1:00:30"),
    "time-min": _of("1", "2:30"),
    "gres": _of("gpu", "gpu:1", "gpu:2", "gpu:a100:1", "gpu:a100", "none"),
    "gpus": _of("1", "2", "4", "a100:2"),
    "gpus-per-node": _of("1", "2", "a100:1"),
    "gpus-per-task": _of("1", "a100:1"),
    "cpus-per-gpu": _of("1", "2"),
    "ntasks-per-gpu": _of("1", "2"),
    "gpu-bind": _of("closest", "none", "map_gpu:0,1"),
    "gres-flags": _of("enforce-binding", "disable-binding"),
    "array": _of("0-3", "1-10%2", "0-15:4", "1,3,5-7", "5"),
    "dependency": _of(
        "singleton", "afterany:1", "afterok:1:1,afternotok:1", "after:1+5", "afterany:1?afterok:1"
    ),
    "constraint": _of("fast", "amd&fast", "amd|intel", "[amd|intel]", "fast*1"),
    "prefer": _of("amd"),
    "nodelist": _of("NODE"),
    "exclude": _of("NODE"),
    "exclusive": _of("", "user"),
    "oversubscribe": _of(""),
    "spread-job": _of(""),
    "use-min-nodes": _of(""),
    "partition": _of("debug", "gpu", "debug,gpu"),
    "licenses": _of("matlab:1", "matlab:2,fluent:1", "fluent"),
    "begin": _of("now+1hour", "now+90", "2031-01-31T10:00:00", "tomorrow", "noon", "now+2days", "2031-01-31"),
    "deadline": _of("2033-02-01T00:00:00", "2033-02-01"),
    "signal": _of("USR1", "USR1@120", "R:TERM@30", "10@60", "SIGINT@90"),
    "mail-type": _of("END", "BEGIN,END,FAIL", "ALL", "NONE", "TIME_LIMIT_80,ARRAY_TASKS", "end"),
    "mail-user": _of("ada@example.org"),
    "nice": _of("", "50", "0"),
    "requeue": _of(""),
    "no-requeue": _of(""),
    "hold": _of(""),
    "output": _of("out.txt", "%x-%j.out", "/tmp/o-%j", "none", "logs/%A_%a.log"),
    "error": _of("err.txt", "%x-%j.err"),
    "input": _of("in.txt", "/dev/null"),
    "open-mode": _of("append", "truncate", "a"),
    "chdir": _of("/tmp", "runs"),
    "wckey": _of("proj"),
    "wait-all-nodes": _of("0", "1"),
    "kill-on-invalid-dep": _of("yes", "no"),
    "export": _of("ALL", "NONE", "ALL,A=1", "A=1,PATH"),
    "get-user-env": _of(""),
    "core-spec": _of("1"),
    "thread-spec": _of("1"),
    "distribution": _of("block", "cyclic", "block:cyclic"),
    "hint": _of("nomultithread", "compute_bound", "multithread"),
    "profile": _of("task", "all", "none"),
    "cpu-freq": _of("medium", "high"),
    "acctg-freq": _of("task=30", "30"),
    "delay-boot": _of("10"),
    "no-kill": _of("", "off"),
    # the ones below are unknown to old releases, or to their API
    "contiguous": _of(""),
    "overcommit": _of(""),
    "switches": _of("1", "1@5:00"),
    "tres-per-task": _of("cpu=1", "cpu=2", "gres/gpu:1", "cpu=1,gres/gpu:a100:1"),
    "extra": _of("rack=1"),
    "oom-kill-step": _of("", "0", "1"),
    "stepmgr": _of(""),
}
_SHORT: Final = {option.name: option.short for option in OPTIONS if option.short}
_TAKES: Final = {option.name: option.takes for option in OPTIONS}
# an array has no components; and of a "yes" above a "no" sbatch makes both at once
ONE_PART_ONLY: Final = ("array", "kill-on-invalid-dep")
_LESS_OFTEN: Final = 4  # of ten scripts so many hold options that an API may not carry


def scripts(seed: int, count: int, target: Target, node: str) -> Iterator[str]:
    """So many scripts, the same for the same seed."""
    chance = random.Random(seed)
    known = [name for name in VALUES if _option(name).is_known_to(target)]
    carried = [name for name in known if all(target.carries(field) for field in _option(name).fields)]
    for _index in range(count):
        names = known if chance.randrange(10) < _LESS_OFTEN else carried
        yield script(chance, names, node)


def script(chance: random.Random, names: list[str], node: str) -> str:
    """One script: up to seven options over some lines, sometimes in two components, always held."""
    parts = 2 if chance.randrange(12) == 0 else 1
    lines = ["#!/bin/bash"]
    for part in range(parts):
        if part:
            lines.append("#SBATCH hetjob")
        chosen = chance.sample(names, chance.randint(1, 4 if parts == 2 else 7))
        lines += [
            "#SBATCH " + write(chance, name, VALUES[name](chance).replace("NODE", node))
            for name in chosen
            if not (parts == 2 and name in ONE_PART_ONLY)
        ]
        lines += chance.choice(([], [""], ["# a comment"], ["   # indented"]))
    lines.insert(1, "#SBATCH --hold")
    return "\n".join([*lines, "echo done", "#SBATCH --nodes=9", ""])


def write(chance: random.Random, name: str, value: str) -> str:
    """The option in one of its forms."""
    quoted = _quoted(chance, value)
    ways = [f"--{name}={quoted}" if value else f"--{name}"]
    if _TAKES[name] == "value":
        ways.append(f"--{name} {quoted}")
    if short := _SHORT.get(name):
        ways.append(f"-{short}{quoted}")
        if _TAKES[name] == "value":
            ways.append(f"-{short} {quoted}")
    return chance.choice(ways) + chance.choice(("", "", "", "  # why", "\t"))


def _quoted(chance: random.Random, value: str) -> str:
    needs = any(letter in value for letter in " #\t'\"")
    if not value or not (needs or chance.randrange(8) == 0):
        return value
    if "'" not in value and chance.randrange(2):
        return f"'{value}'"
    return '"' + value.replace('"', r"\"") + '"'


def _option(name: str) -> Option:
    return next(option for option in OPTIONS if option.name == name)
