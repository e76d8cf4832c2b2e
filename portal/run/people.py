"""The people of the demo: who can sign in at the demo provider, and as what. Facts only."""

from __future__ import annotations

from dataclasses import dataclass

from portal.lib.types import JSONDict


@dataclass(frozen=True, slots=True)
class Person:
    """One person at the demo's OpenID provider."""

    subject: str
    name: str
    role: str  # for the line that `make run` prints

    def claims(self) -> JSONDict:
        """What the provider says about the person."""
        return {
            "sub": self.subject,
            "name": self.name,
            "email": f"{self.subject}@example.org",
            "email_verified": True,
        }


ADA = Person("ada", "Ada Lindqvist", "tenant admin of Lab North")
RUI = Person("rui", "Rui Carvalho", "researcher in Lab North")
OLGA = Person("olga", "Olga Petrenko", "of another tenant, Lab South")
OTTO = Person("otto", "Otto Brandt", "operator: approves orders")
PEOPLE = (ADA, RUI, OLGA, OTTO)
OPERATORS = (OTTO,)
