"""Environment variables typed one a line, and the small safe environment that every job gets."""

from __future__ import annotations

import re

from django.utils.translation import gettext as _

from jobs.parsing.refusal import Refusal

MOST = 200
LONGEST = 128 * 1024 - 1  # bytes of NAME=value: what Linux takes for one variable
LARGEST = 512 * 1024  # bytes in all; Linux takes about 2 MB with the arguments
PATH = "/usr/local/bin:/usr/bin:/bin"

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_OF_SLURM = re.compile(r"SLURM(D|CTLD|RESTD)?_.*", re.ASCII)


def parse_environment(text: str) -> dict[str, str]:
    """NAME=value a line; blank lines are skipped, spaces inside a value are kept.

    A value cannot hold a line break: a second line without a name is refused, never made a variable.
    Raises Refusal with the number of the line.
    """
    found: dict[str, str] = {}
    for number, line in enumerate(text.replace("\r\n", "\n").replace("\r", "\n").split("\n"), start=1):
        if line.strip():
            name, value = _read_line(number, line)
            if name in found:
                raise Refusal(
                    _("Line %(line)d: %(name)s is there twice. Keep one of them.")
                    % {"line": number, "name": name}
                )
            found[name] = value
    if len(found) > MOST:
        raise Refusal(_("At most %(most)d variables. Set the others in the script.") % {"most": MOST})
    if sum(len(f"{name}={value}".encode()) + 1 for name, value in found.items()) > LARGEST:
        raise Refusal(_("At most 512 KiB in all. Put large values into a file."))
    return found


def _read_line(number: int, line: str) -> tuple[str, str]:
    name, equals, value = line.partition("=")
    name = name.strip() if equals else name
    told = {"line": number, "name": name}
    if not equals:
        raise Refusal(_("Line %(line)d: write NAME=value. A value cannot hold a line break.") % told)
    if _NAME.fullmatch(name) is None:
        raise Refusal(
            (
                _("Line %(line)d: a name begins with a letter or _ and holds letters, digits and _ only.")
                if name
                else _("Line %(line)d: the name before = is missing.")
            )
            % told
        )
    if _OF_SLURM.fullmatch(name):
        raise Refusal(_("Line %(line)d: Slurm sets %(name)s itself. Change it in the script.") % told)
    if "\0" in value:
        raise Refusal(_("Line %(line)d: a value cannot hold a NUL character.") % told)
    if len(f"{name}={value}".encode("utf-8", "replace")) > LONGEST:
        raise Refusal(
            _("Line %(line)d: one variable has at most 128 KiB. Put large values into a file.") % told
        )
    return name, value


def safe_environment(*, account: str, home: str) -> dict[str, str]:
    """What a job gets besides its own variables: slurmctld refuses one with none.

    Nothing comes from the portal's own process.
    """
    return {
        "PATH": PATH,
        "HOME": home,
        "USER": account,
        "LOGNAME": account,
        "SHELL": "/bin/bash",
        "LANG": "C.UTF-8",
    }
