"""How the values of sbatch's options are read, where a field of the form has no reader for them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from typing import Final

from django.utils.translation import gettext as _

from clusters.clients.slurmrest.models import UNLIMITED, Limit
from jobs.parsing.gpus import MODEL
from jobs.parsing.moments import parse_seconds
from jobs.parsing.names import parse_line
from jobs.parsing.options.table import Reader
from jobs.parsing.paths import parse_any_path
from jobs.parsing.refusal import Refusal
from jobs.parsing.time_limit import parse_time_limit

LARGEST: Final = 2**31 - 1
TOP: Final = 2**32 - 3  # how Slurm writes --priority=TOP
MOST_NICE: Final = 2**31 - 3
_NAME: Final = r"[^\s\x00-\x1f\x7f,;|&<>'\"\\]+"
_GPU: Final = rf"(?:{MODEL}(?:[:=]\d+)?|\d+)"
_GRES: Final = rf"[A-Za-z][\w.-]*(?::{MODEL})?(?:[:=]\d+[KMGTkmgt]?)?"
_TRES: Final = r"(?:cpu[:=]0*[1-9]\d*|(?:gres[/:]|license/|bb/)[\w:/.-]+(?:=\d+)?)"
_NODES: Final = re.compile(r"(\d+)([kKmM]?)(?:-(\d+)([kKmM]?))?", re.ASCII)
_SIZES: Final = re.compile(r"\d+(?:-\d+(?::\d+)?)?(?:,\d+(?:-\d+(?::\d+)?)?)*", re.ASCII)
_SIGNAL: Final = re.compile(
    r"(?P<flags>[BR]{0,2}):?(?P<signal>\d+|[A-Z][A-Z0-9+-]*)(?:@(?P<seconds>\d{1,5}))?"
)
_SIGNALS: Final = re.compile(
    r"HUP|INT|QUIT|ABRT|KILL|ALRM|TERM|USR[12]|URG|CONT|STOP|TSTP|TTIN|TTOU|XCPU|XFSZ|PIPE|CHLD"
)
MAIL: Final = ("BEGIN", "END", "FAIL", "REQUEUE", "STAGE_OUT", "ARRAY_TASKS", "INVALID_DEPEND")
_MAIL_TIMES: Final = ("TIME_LIMIT", "TIME_LIMIT_90", "TIME_LIMIT_80", "TIME_LIMIT_50")
_ALL_MAIL: Final = ("BEGIN", "END", "FAIL", "REQUEUE", "STAGE_OUT", "INVALID_DEPEND")
_OPEN_MODES: Final = {"a": "append", "t": "truncate"}
PROFILES: Final = ("ENERGY", "LUSTRE", "NETWORK", "TASK")


def number(text: str, *, least: int = 1, most: int = LARGEST) -> int:
    """A whole number. Raises Refusal."""
    word = text.strip().removeprefix("+")
    if not (word.isascii() and word.isdigit()) or not least <= int(word[:12]) <= most:
        raise Refusal(_("Write a whole number from %(least)d up.") % {"least": least})
    return int(word)


def count(*, least: int = 1, most: int = LARGEST) -> Reader:
    """A reader of whole numbers."""
    return partial(number, least=least, most=most)


def flag(_text: str) -> bool:
    """An option that is a wish by itself."""
    return True


def choice(words: Mapping[str, object]) -> Reader:
    """A reader of one of some words, in either case."""

    def read(text: str) -> object:
        if text.lower() not in words:
            there = ", ".join(word for word in words if word)
            raise Refusal(_("Write one of: %(there)s.") % {"there": there})
        return words[text.lower()]

    return read


def matching(pattern: str, example: str) -> Reader:
    """A reader of texts of one form."""
    form = re.compile(pattern, re.ASCII)

    def read(text: str) -> str:
        word = text.strip()
        if form.fullmatch(word) is None or len(word) > 1000:
            raise Refusal(_("Write for example %(example)s.") % {"example": example})
        return word

    return read


line = partial(parse_line, longest=1000)
names = matching(rf"{_NAME}(?:,{_NAME})*", "debug,gpu")
gpus = matching(rf"{_GPU}(?:,{_GPU})*", "2, a100:2")
tres = matching(rf"{_TRES}(?:,{_TRES})*", "cpu=2,gres/gpu:1")


def gres(text: str) -> str | None:
    """gpu, gpu:2, gpu:a100:2,shard:3; "none" is no wish. Raises Refusal."""
    if text.lower() == "none":
        return None
    bare = re.sub(r"(^|,)gres/", r"\1", text)  # as newer Slurm writes it
    found = matching(rf"{_GRES}(?:,{_GRES})*", "gpu:2, gpu:a100:2,shard:3")(bare)
    assert isinstance(found, str)  # noqa: S101
    return found


def nodes(text: str) -> Mapping[str, object]:
    """2, 2-4, 1k; from Slurm 23.02 on also 1,2,4 and 2-8:2. Raises Refusal."""
    match = _NODES.fullmatch(text.strip())
    if match is None:
        if _SIZES.fullmatch(text.strip()) is None:
            raise Refusal(_("Write a number of nodes (2) or a range (2-4)."))
        parts = [int(part) for part in re.findall(r"(?<!:)\b\d+", text)]
        return {"node_sizes": text.strip(), "nodes": min(parts), "max_nodes": max(parts)}
    least, most = _times(match[1], match[2]), _times(match[3], match[4])
    if not least or (most is not None and most < least):
        raise Refusal(_("Write a number of nodes from 1 up, and the lower number of a range first."))
    return {"nodes": least, "max_nodes": None if most == least else most, "node_sizes": None}


def _times(digits: str | None, unit: str | None) -> int | None:
    if digits is None:
        return None
    return int(digits[:9]) * {"": 1, "k": 1024, "m": 1024**2}[(unit or "").lower()]


def layout(text: str) -> Mapping[str, object]:
    """sockets[:cores[:threads]] of --extra-node-info; * is any, of a range the lower end. Raises Refusal."""
    parts = [re.sub(r"^(\d+)-\d+$", r"\1", part) for part in text.split(":")]
    if len(parts) > 3 or not all(part.isdigit() or part in {"*", ""} for part in parts):
        raise Refusal(_("Write sockets:cores:threads, for example 2:8:1; * is any number."))
    fields = ("sockets_per_node", "cores_per_socket", "threads_per_core")
    told: dict[str, object] = {
        name: int(part) for name, part in zip(fields, parts, strict=False) if part.isdigit()
    }
    return told | {"in_one": True}


def mebibytes(text: str) -> int:
    """As sbatch counts: a plain number is MiB, K rounds up, and there are no fractions. Raises Refusal."""
    match = re.fullmatch(r"(\d{1,12})(?:([KMGT])B?)?", text.strip().upper(), re.ASCII)
    if match is None:
        raise Refusal(_("Write a whole amount with a unit, for example 16G or 1536M; sbatch takes no other."))
    factor = {"M": 1, "G": 1024, "T": 1024**2}
    return -(-int(match[1]) // 1024) if match[2] == "K" else int(match[1]) * factor[match[2] or "M"]


def time_limit(text: str) -> Limit:
    """As parse_time_limit; -1 is no limit."""
    return UNLIMITED if text.strip() == "-1" else parse_time_limit(text)


def warning(text: str) -> Mapping[str, object]:
    """[B][R][:]signal[@seconds]; 60 seconds unless told. Raises Refusal."""
    match = _SIGNAL.fullmatch(text.strip().upper())
    signal = match["signal"].removeprefix("SIG") if match else ""
    known = _SIGNALS.fullmatch(signal) is not None or (signal.isdigit() and 0 < int(signal) < 65)
    if match is None or not known or int(match["seconds"] or 60) > 65535:
        raise Refusal(_("Write a signal and the seconds before the end, for example USR1@60 or B:TERM@120."))
    reserved = "R:" if "R" in match["flags"] else ""
    seconds = int(match["seconds"] or 60)
    return {
        "warning": f"{reserved}{signal}@{seconds}",
        "warning_batch": True if "B" in match["flags"] else None,
    }


def mail_types(text: str) -> tuple[str, ...]:
    """BEGIN,END; ALL is all but the time limits; NONE is none. Raises Refusal for a word that is none."""
    found: list[str] = []
    for word in filter(None, text.upper().split(",")):
        if word == "NONE":
            return ()
        if word == "ALL":
            found += _ALL_MAIL
        elif word in {*MAIL, *_MAIL_TIMES}:
            found.append(word)
        else:
            there = ", ".join(("NONE", "ALL", *MAIL, *_MAIL_TIMES))
            told = _("%(word)s is no event. There are: %(there)s.")
            raise Refusal(told % {"word": word[:40], "there": there})
    if not found:
        raise Refusal(_("Write for example END,FAIL."))
    return tuple(sorted(set(found)))


def profile(text: str) -> tuple[str, ...]:
    """energy,task,network,lustre, all or none. Raises Refusal."""
    words = set(text.upper().replace("FILESYSTEM", "LUSTRE").split(","))
    if words == {"NONE"}:
        return ("NONE",)
    if "ALL" in words:
        return PROFILES
    if not words <= set(PROFILES):
        raise Refusal(_("Write one of: %(there)s.") % {"there": "all, none, energy, task, network, lustre"})
    return tuple(sorted(words))


def nice(text: str) -> int:
    """A number that lowers the priority; without one 100. Raises Refusal."""
    word = text.strip() or "100"
    if re.fullmatch(r"[+-]?\d{1,10}", word, re.ASCII) is None or abs(int(word)) > MOST_NICE:
        raise Refusal(_("Write a whole number."))
    return int(word)


def priority(text: str) -> int:
    """A number, or TOP. Raises Refusal."""
    if text.upper() == "TOP":
        return TOP
    if text.strip() == "0":
        raise Refusal(_("sbatch ignores the priority 0. Write --hold to hold the job."))
    return number(text, most=TOP)


def open_mode(text: str) -> str:
    """append or truncate; as with sbatch the first letter tells. Raises Refusal."""
    return str(choice({"append": "append", "truncate": "truncate"})(_OPEN_MODES.get(text[:1].lower(), text)))


def switches(text: str) -> Mapping[str, object]:
    """How many switches at most, and how long to wait for them: 2@1:00. Raises Refusal."""
    least, at, wait = text.partition("@")
    return {"switches": number(least), "switches_wait": parse_seconds(wait) if at else None}


def memory_update(text: str) -> tuple[int, int]:
    """Margin and minutes: 10@5. Raises Refusal."""
    margin, at, minutes = text.partition("@")
    delay = parse_time_limit(minutes) if at else None
    if not isinstance(delay, int):
        raise Refusal(_("Write margin@time, for example 10@5."))
    return number(margin, most=65535), delay


def node_names(text: str) -> str | None:
    """Names and ranges: n1,n[3-5]. Raises Refusal; a file of names is refused, too."""
    if "/" in text:
        told = _("A file of node names is read on the machine of sbatch, which is not here. Write the names.")
        raise Refusal(told)
    found = line(text)
    if found is not None and (re.search(r"\s", found) or found.count("[") != found.count("]")):
        raise Refusal(_("Write names and ranges, for example n1,n[3-5]."))
    return found


def output_path(text: str) -> str | None:
    """A path; "none" is /dev/null. Raises Refusal."""
    return "/dev/null" if text.lower() == "none" else parse_any_path(text)


def mail_user(text: str) -> str | None:
    """One or several addresses or user names."""
    return line(text)
