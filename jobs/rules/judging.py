"""All that accounting has to say to one request."""

from __future__ import annotations

from collections.abc import Mapping

from jobs.rules.budget import Budget, budgets, spent
from jobs.rules.checks import Finding, asked_of, dated, who
from jobs.rules.demand import demand_of
from jobs.rules.limits import over
from jobs.rules.view import RulesView
from jobs.services.capacity import ClusterView


def judge(values: Mapping[str, object], view: ClusterView, rules: RulesView) -> list[Finding]:
    """Errors and warnings, each with the age of what it relies on; of a field that is wrong the first."""
    asked = asked_of(values, view, rules)
    found = list(who(asked, rules))
    if not any(finding.is_error for finding in found):  # else nobody knows whose limits hold
        demand = demand_of(values, view.target)
        found += over(asked, demand, rules)
        found += spent(asked, demand, rules)
    return [dated(finding, rules) for finding in found]


def left_for(values: Mapping[str, object], view: ClusterView, rules: RulesView) -> list[Budget]:
    """What is left of the budgets from which a request would be taken."""
    return budgets(asked_of(values, view, rules), rules)
