"""Forms of orders and clusters: they parse and bound; what holds is checked by the services."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from django import forms
from django.utils.text import format_lazy
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from clusters import stacks
from clusters.models import Offering, Order, Site, Stack
from clusters.names import CLUSTER_LENGTH, POOL_LENGTH, RULE
from clusters.services import capacity, parameters, remarks
from clusters.services.order_checks import (
    JUSTIFICATION_LENGTH,
    MOST_NODES,
    MOST_POOLS,
    OrderRequest,
    PoolRequest,
    not_offered,
)
from portal.lib.errors import BadInput

if TYPE_CHECKING:
    from django.http import QueryDict

    from clusters.services.parameters import Field

FIRST_ROWS = 1  # pools that can be entered before "add a row" is pressed
NO_FILL = {"autocomplete": "off", "spellcheck": "false"}


class OrderForm(forms.Form):
    """A new cluster, without its pools."""

    key = forms.UUIDField(
        label=_("Form"),
        widget=forms.HiddenInput,
        error_messages=dict.fromkeys(("invalid", "required"), _("Open the order form again.")),
    )
    stack = forms.ChoiceField(label=_("Stack"), choices=Stack.choices)
    site = forms.ModelChoiceField(Site.objects.none(), label=_("Site"), empty_label=None)
    name = forms.CharField(
        label=_("Name"),
        max_length=200,  # the rule's own limit has the better message
        help_text=format_lazy(
            _("Up to {most} {rule}. Others, such as spaces, become hyphens."), most=CLUSTER_LENGTH, rule=RULE
        ),
        widget=forms.TextInput(attrs=NO_FILL),
    )
    justification = forms.CharField(
        label=_("What it is for"),
        required=False,
        max_length=JUSTIFICATION_LENGTH,
        help_text=format_lazy(
            _("The operator reads it. At most {most} characters."), most=JUSTIFICATION_LENGTH
        ),
        widget=forms.Textarea(attrs={"rows": 3}),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        sites: Any = self.fields["site"]
        rows = Site.objects.filter(active=True, offerings__active=True).select_related("facts")
        sites.queryset = rows.distinct().order_by("name")
        self.sites = list(sites.queryset)
        stack: Any = self.fields["stack"]
        stack.choices = stack_choices(self.sites)


def stack_choices(sites: list[Site]) -> list[tuple[str, str]]:
    """What any of the sites offers; with the sites where not all of them do."""
    choices = []
    for stack in stacks.of_sites(sites):
        having = [site.name for site in sites if stack in stacks.of_site(site)]
        label = str(stack.label)
        if len(having) < len(sites):
            label = gettext("%(stack)s, at %(sites)s") % {"stack": label, "sites": ", ".join(having)}
        choices.append((stack.value, label))
    return choices


class ParametersForm(forms.Form):
    """What the template of one site asks for. What holds is checked by the service."""

    def __init__(
        self, data: QueryDict | None, *, site: Site, asked: Sequence[Field], initial: dict[str, Any]
    ) -> None:
        super().__init__(data, initial=initial, prefix=f"parameter-{site.slug}", auto_id="order-%s")
        self.site = site
        self.by_name = {name_of(number): one for number, one in enumerate(asked)}
        for name, one in self.by_name.items():
            self.fields[name] = _control(one)

    def given(self) -> dict[str, object]:
        """By the template's names; nothing that was left empty."""
        self.is_valid()
        found = {one.name: self.cleaned_data.get(name) for name, one in self.by_name.items()}
        return {name: value for name, value in found.items() if value not in {"", None}}

    def show(self, parameter: str, message: str) -> None:
        """Put a refusal beside its field."""
        name = next((name for name, one in self.by_name.items() if one.name == parameter), None)
        self.add_error(name, message)


def name_of(number: int) -> str:
    """The name of a parameter's control: the template's own names may hold anything."""
    return f"p{number}"


def _control(one: Field) -> forms.Field:
    told: dict[str, Any] = {
        "label": one.label,
        "help_text": one.help,
        "required": False,
        "initial": one.default,
    }
    if one.kind == "boolean":
        return forms.BooleanField(**told | {"initial": one.default.lower() in {"true", "on", "yes", "1"}})
    if one.options:
        blank = [] if one.default or one.required else [("", gettext("Choose"))]
        return forms.ChoiceField(choices=[*blank, *((text, text) for text in one.options)], **told)
    attrs = NO_FILL | {"placeholder": one.placeholder} if one.placeholder else NO_FILL
    if one.kind == "number":
        attrs = attrs | {"inputmode": "decimal"}
    field = forms.CharField(max_length=500, widget=forms.TextInput(attrs=attrs), **told)
    # the template's check has the sentence; the mark says that it is needed
    field.required = one.required and not one.default
    return field


class PoolForm(forms.Form):
    """One pool; a row that is left blank is no pool."""

    name = forms.CharField(
        label=_("Pool"),
        max_length=200,
        widget=forms.TextInput(attrs=NO_FILL),
    )
    offering = forms.ModelChoiceField(
        Offering.objects.none(), label=_("Flavor"), empty_label=_("Choose a flavor")
    )
    count = forms.IntegerField(
        label=_("Nodes"),
        min_value=1,
        max_value=MOST_NODES,
        widget=forms.NumberInput(attrs={"inputmode": "numeric"}),
    )

    def __init__(self, *args: Any, offered: list[Offering], free: Mapping[Any, int], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        offerings: Any = self.fields["offering"]
        offerings.queryset = Offering.objects.filter(active=True, site__active=True).select_related(
            "site", "flavor"
        )
        # one list of choices for all rows: no query for each row
        several = len({one.site_id for one in offered}) > 1
        labels = [(one.pk, label_of(one, free, with_site=several)) for one in offered]
        offerings.choices = [("", gettext("Choose a flavor")), *labels]

    @property
    def is_blank(self) -> bool:
        """Nothing was entered in this row."""
        return not any(str(self.data.get(self.add_prefix(name), "")).strip() for name in self.fields)


def label_of(offering: Offering, free: Mapping[Any, int], *, with_site: bool) -> str:
    """a100-4, 8 free; with the site where there are several. The rest stands in the table above."""
    told = {
        "flavor": offering.flavor.name,
        "site": offering.site.name,
        "free": free.get((offering.site_id, offering.flavor_id), 0),
    }
    if with_site:
        return gettext("%(flavor)s at %(site)s, %(free)d free") % told
    return gettext("%(flavor)s, %(free)d free") % told


def bounds() -> str:
    """What a new pool may be."""
    told = {"long": POOL_LENGTH, "most": MOST_NODES}
    return gettext("A name has up to %(long)d characters; a pool has 1 to %(most)d nodes.") % told


class OrderForms:
    """The order form with its rows of pools."""

    def __init__(
        self, data: QueryDict | None = None, *, again: Order | None = None, more: bool = False
    ) -> None:
        self.data = data
        self.again = again
        self._chosen: list[tuple[Offering, int]] | None = None
        offered = capacity.offerings()
        free = {key: found.free for key, found in capacity.capacity().items()}
        self.order = OrderForm(data, initial=_initial(again), auto_id="order-%s")
        self.pools = [
            PoolForm(
                data,
                prefix=f"pool-{index}",
                initial=_initial_pool(again, index, offered),
                offered=offered,
                free=free,
                auto_id="order-%s",
                # a row that is left blank is no pool, so it has no errors; the first one is needed
                empty_permitted=index > 0,
                use_required_attribute=False,
            )
            for index in range(self._rows(more=more))
        ]
        self.parameters = [
            ParametersForm(data, site=site, asked=asked, initial=_initial_parameters(again, site, asked))
            for site, asked in parameters.by_site(self.order.sites).items()
        ]
        self.offered = [(one, free.get((one.site_id, one.flavor_id), 0)) for one in offered]
        self.bounds = bounds()

    @property
    def can_grow(self) -> bool:
        """Another row may be added."""
        return len(self.pools) < MOST_POOLS

    def _rows(self, *, more: bool) -> int:
        if self.data is None:
            return max(FIRST_ROWS, self.again.lines.count() if self.again else 0)
        sent = str(self.data.get("rows", ""))
        known = int(sent) if sent.isascii() and sent.isdigit() and len(sent) < 3 else FIRST_ROWS
        return max(1, min(known + more, MOST_POOLS))

    def used(self) -> list[PoolForm]:
        """Rows in which something was entered; the first one always counts."""
        return [pool for index, pool in enumerate(self.pools) if index == 0 or not pool.is_blank]

    def is_valid(self) -> bool:
        """Parse everything, so that every message is there at once."""
        here = self.here()
        results = [
            self.order.is_valid(),
            here is None or here.is_valid(),
            *(pool.is_valid() for pool in self.used()),
        ]
        return all(results)

    def request(self) -> OrderRequest:
        """What was asked for; only when valid."""
        clean = self.order.cleaned_data
        return OrderRequest(
            site=clean["site"],
            name=clean["name"],
            stack=clean["stack"],
            justification=clean["justification"],
            parameters=here.given() if (here := self.here()) else {},
            pools=tuple(
                PoolRequest(pool["name"], pool["offering"], pool["count"])
                for pool in (form.cleaned_data for form in self.used())
            ),
        )

    def here(self) -> ParametersForm | None:
        """What the chosen site asks for; None where it asks for nothing."""
        self.order.is_valid()
        site = self.order.cleaned_data.get("site")
        return next((form for form in self.parameters if form.site == site), None)

    def no_stack(self) -> str:
        """Why the chosen site cannot serve the chosen stack; "" where it can or nothing is chosen yet."""
        self.order.is_valid()
        site, stack = self.order.cleaned_data.get("site"), self.order.cleaned_data.get("stack")
        return not_offered(site) if site and stack and stack not in stacks.of_site(site) else ""

    def remarks(self) -> list[str]:
        """What to know of the chosen stack at the chosen site; of the first ones while nothing is chosen."""
        self.order.is_valid()
        clean = self.order.cleaned_data if self.data is not None else {}
        site = clean.get("site") or next(iter(self.order.sites), None)
        stack = clean.get("stack") or next(iter(stacks.of_site(site)), "") if site else ""
        return remarks.of_order(site, str(stack)) if site and stack else []

    def chosen(self) -> list[tuple[Offering, int]]:
        """Pools that can be summed up already, also while the rest is not filled in or was refused."""
        if self._chosen is not None:
            return self._chosen
        found = []
        for pool in self.used():
            pool.is_valid()
            clean = pool.cleaned_data
            if clean.get("offering") and clean.get("count"):
                found.append((clean["offering"], clean["count"]))
        self._chosen = found
        return found

    def show(self, error: BadInput) -> None:
        """Put a service's refusal beside the fields."""
        self.chosen()  # a refused field loses its value, and the summary would lose its pool
        used = self.used()
        for name, message in (error.fields or {"": error.message}).items():
            part, _, rest = name.partition(".")
            index, _, field = rest.partition(".")
            if part == "parameters" and (here := self.here()):
                here.show(rest, message)
            elif part == "pools" and field:
                used[int(index)].add_error(field, message)
            elif name in self.order.fields:
                self.order.add_error(name, message)
            else:
                self.order.add_error(None, message)

    @property
    def errors(self) -> list[tuple[str, str, str]]:
        """Every error: id of its field, label, message; for the summary above the form."""
        found = (
            [("", "", str(message)) for message in self.order.non_field_errors()]
            if self.order.is_bound
            else []
        )
        for number, form in enumerate([self.order, *self.used()] if self.data is not None else []):
            for field in form:
                label = str(field.label)
                if number:
                    label = gettext("%(field)s of row %(number)d") % {"field": label, "number": number}
                found += [(field.id_for_label or "", label, str(message)) for message in field.errors]
        here = self.here() if self.data is not None else None
        for field in here or ():
            found += [(field.id_for_label, str(field.label), str(message)) for message in field.errors]
        return found


def _initial_parameters(again: Order | None, site: Site, asked: Sequence[Field]) -> dict[str, Any]:
    if again is None or again.site_id != site.pk:
        return {}
    kept = {name_of(number): again.parameters.get(one.name) for number, one in enumerate(asked)}
    return {
        name: value == "true" if value in {"true", "false"} else value
        for name, value in kept.items()
        if value
    }


def _initial(again: Order | None) -> dict[str, Any]:
    start: dict[str, Any] = {"key": uuid.uuid4()}
    if again is not None:
        start |= {
            "stack": again.stack,
            "site": again.site_id,
            "name": again.cluster_name,
            "justification": again.justification,
        }
    return start


def _initial_pool(again: Order | None, index: int, offered: list[Offering]) -> dict[str, Any]:
    if again is None:
        first = next((one for one in offered if one.flavor.gpu_count), offered[0] if offered else None)
        return {"name": "gpu", "offering": first, "count": 1} if index == 0 and first else {}
    lines = list(again.lines.order_by("pk"))
    if index >= len(lines):
        return {}
    line = lines[index]
    same = [one for one in offered if one.flavor_id == line.flavor_id and one.site_id == again.site_id]
    return {"name": line.pool, "count": line.count, "offering": same[0] if same else None}


class TerminateForm(forms.Form):
    """The end of a cluster."""

    when = forms.ChoiceField(
        label=_("When"),
        choices=[
            ("later", _("In 24 hours: until then it can be called off")),
            ("now", _("Now: running jobs end at once")),
        ],
        initial="later",
        widget=forms.RadioSelect,
    )
    confirm = forms.CharField(
        label=_("Name of the cluster"),
        max_length=100,
        help_text=_("Type the cluster's name, so that it is certain which one you mean."),
        widget=forms.TextInput(attrs=NO_FILL),
    )
