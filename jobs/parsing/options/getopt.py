"""Reads words as options the way getopt_long(3) does, which is what sbatch uses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _

from jobs.parsing.head import Problem, Word
from jobs.parsing.options.table import Option


@dataclass(frozen=True, slots=True)
class Asked:
    """An option with its value (None: without one) and the line on which it stands."""

    option: Option
    value: str | None
    line: int


def read_options(words: Sequence[Word], known: Sequence[Option]) -> Iterator[Asked | Problem]:
    """What the words ask for. After a word that is no option nothing more is read, as by sbatch."""
    waiting = list(words)
    while waiting:
        word = waiting.pop(0)
        if word.text == "--":
            yield from (_left_over(left) for left in waiting[:1])
            return
        if word.text.startswith("--"):
            found = _long(word, waiting, known)
            yield found
            _skip_value(found, waiting)
        elif word.text.startswith("-") and len(word.text) > 1:
            yield from _short(word, waiting, known)
        else:
            yield _left_over(word)
            return


def _skip_value(found: Asked | Problem, waiting: list[Word]) -> None:
    """What may be the value of a wrong option is no second mistake."""
    if isinstance(found, Problem) and waiting and not waiting[0].text.startswith("-"):
        waiting.pop(0)


def _left_over(word: Word) -> Problem:
    told = _('"%(word)s" is not an option. Options begin with - or --.')
    return Problem(word.line, told % {"word": word.text[:60]})


def _long(word: Word, waiting: list[Word], known: Sequence[Option]) -> Asked | Problem:
    name, equals, text = word.text[2:].partition("=")
    found = [option for option in known if option.name == name]
    found = found or [option for option in known if option.name.startswith(name)]
    if not found:
        return Problem(word.line, _("sbatch has no option --%(name)s.") % {"name": name[:60]})
    if len(found) > 1:
        names = ", ".join(f"--{option.name}" for option in found[:6])
        told = _("--%(name)s may mean several options: %(names)s. Write it out.")
        return Problem(word.line, told % {"name": name[:60], "names": names})
    option = found[0]
    if equals and option.takes == "nothing":
        return Problem(word.line, _("--%(name)s takes no value.") % {"name": option.name})
    if equals:
        return Asked(option, text, word.line)
    return _with_next(option, word, waiting)


def _short(word: Word, waiting: list[Word], known: Sequence[Option]) -> Iterator[Asked | Problem]:
    letters = word.text[1:]
    for position, letter in enumerate(letters, start=1):
        option = next((option for option in known if option.short == letter), None)
        if option is None:
            problem = Problem(word.line, _("sbatch has no option -%(name)s.") % {"name": letter})
            yield problem
            _skip_value(problem, waiting)
            return
        rest = letters[position:]
        if option.takes == "nothing":
            yield Asked(option, None, word.line)
        elif rest:
            yield Asked(option, rest, word.line)
            return
        else:
            yield _with_next(option, word, waiting)
            return


def _with_next(option: Option, word: Word, waiting: list[Word]) -> Asked | Problem:
    """A value that must be there is the next word, whatever it looks like."""
    if option.takes != "value":
        return Asked(option, None, word.line)
    if not waiting:
        return Problem(word.line, _("--%(option)s has no value.") % {"option": option.name})
    return Asked(option, waiting.pop(0).text, word.line)
