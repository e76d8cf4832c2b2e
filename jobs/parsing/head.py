"""The head of a script: the words of its #SBATCH lines, split as the sbatch client splits them."""

from __future__ import annotations

from dataclasses import dataclass, field

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from jobs.parsing.refusal import Refusal
from portal.lib.types import Words

_MAGIC = "#SBATCH"
_OLD_MAGIC = "#SLURM"
_OTHERS = ("#PBS", "#BSUB")  # sbatch translates a part of them
_BLANK = " \t\n\v\f\r"
_SEPARATORS = ("hetjob", "packjob")


@dataclass(frozen=True, slots=True)
class Problem:
    """A line that cannot be honoured, and what to do about it."""

    line: int
    message: Words  # lazy where it is kept

    def __str__(self) -> str:
        return _("Line %(line)d: %(message)s") % {"line": self.line, "message": self.message}


@dataclass(frozen=True, slots=True)
class Word:
    """One word of a directive and its line (from 1)."""

    text: str
    line: int


@dataclass(slots=True)
class Head:
    """The words of each component; one list unless `#SBATCH hetjob` separates several."""

    parts: list[list[Word]] = field(default_factory=lambda: [[]])
    problems: list[Problem] = field(default_factory=list)
    notes: list[Problem] = field(default_factory=list)  # worth telling, no reason to stop


def read_head(script: str, *, keeps_escaped_blank: bool = True) -> Head:
    """Read the lines above the first command; below it nothing counts.

    `keeps_escaped_blank`: Slurm before 23.11 ended a word at a blank behind a backslash.
    """
    head = Head()
    is_head = True
    for number, line in enumerate(script.split("\n"), start=1):
        if line.startswith((_MAGIC, _OLD_MAGIC)):
            if is_head:
                _read_line(head, number, line, keeps_escaped_blank=keeps_escaped_blank)
            elif line.startswith(_MAGIC):
                told = gettext_lazy("#SBATCH below the first command is ignored, as by sbatch.")
                head.notes.append(Problem(number, told))
        elif is_head and line.startswith(_OTHERS):
            word = line.split(None, 1)[0]
            wrong = _("%(word)s lines are not read here. Write them as #SBATCH.") % {"word": word}
            head.problems.append(Problem(number, wrong))
        elif line.strip(_BLANK) and not line.lstrip(_BLANK).startswith("#"):
            is_head = False
    return head


def _read_line(head: Head, number: int, line: str, *, keeps_escaped_blank: bool) -> None:
    rest = line.removeprefix(_MAGIC)
    if rest == line:
        rest = line.removeprefix(_OLD_MAGIC)
        head.notes.append(Problem(number, gettext_lazy("#SLURM is read as #SBATCH; write #SBATCH.")))
    try:
        words = split_words(rest, keeps_escaped_blank=keeps_escaped_blank)
        if words and words[0].lower() in _SEPARATORS:
            head.parts.append([])
            _check_separator(words)
            return
        if any(word.lower() in _SEPARATORS for word in words):
            raise Refusal(_("hetjob stands on a line of its own: #SBATCH hetjob."))
    except Refusal as refusal:
        head.problems.append(Problem(number, str(refusal)))
        return
    head.parts[-1] += [Word(word, number) for word in words]


def _check_separator(words: list[str]) -> None:
    """sbatch drops the rest of such a line without a word."""
    if len(words) > 1:
        raise Refusal(_("sbatch ignores what stands behind hetjob. Write it on the next #SBATCH line."))


def split_words(rest: str, *, keeps_escaped_blank: bool = True) -> list[str]:
    """The words behind #SBATCH: quotes group, a backslash takes the next character as it is, # ends the line.

    Raises Refusal for a quote that is not closed, and for an empty text in quotes, at which sbatch stops.
    """
    words: list[str] = []
    position = 0
    while True:
        while position < len(rest) and rest[position] in _BLANK:
            position += 1
        if position == len(rest) or rest[position] == "#":
            return words
        if rest[position] == ":":
            raise Refusal(_("a word cannot begin with a colon."))
        if rest[position:] == "\\":  # nothing is continued: sbatch reads each line alone
            return words
        word, position = _word(rest, position, keeps_escaped_blank=keeps_escaped_blank)
        if not word:
            raise Refusal(_("sbatch stops reading a line at an empty text in quotes. Remove it."))
        words.append(word)


def _word(rest: str, position: int, *, keeps_escaped_blank: bool) -> tuple[str, int]:
    """The word that begins there, and where it ends. Raises Refusal for a quote that is not closed."""
    letters: list[str] = []
    quote = ""
    while position < len(rest):
        letter = rest[position]
        if letter == "\\":
            position += 1
            letter = rest[position : position + 1]
            if _ends(letter, quote, keeps_escaped_blank=keeps_escaped_blank):
                break
            letters.append(letter)
        elif letter == quote or (not quote and letter in "\"'"):
            quote = "" if quote else letter
        elif not quote and letter in _BLANK + "#":
            break
        else:
            letters.append(letter)
        position += 1
    if quote:
        raise Refusal(_("a quote is not closed."))
    return "".join(letters), position


def _ends(escaped: str, quote: str, *, keeps_escaped_blank: bool) -> bool:
    """Whether a word ends at this character although a backslash stands before it."""
    if not escaped:
        return True
    return not quote and escaped in _BLANK and not (keeps_escaped_blank and escaped == " ")
