"""The form of a resize: nodes of each pool that exists, and rows for new pools."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django import forms
from django.utils.text import format_lazy
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from clusters.forms import PoolForm, bounds
from clusters.models import Cluster, NodePool
from clusters.services import capacity
from clusters.services.order_checks import JUSTIFICATION_LENGTH, MOST_NODES, MOST_POOLS, PoolRequest
from clusters.services.resize_checks import Line, ResizeRequest, offerings_of, pools_of
from portal.lib.errors import BadInput

if TYPE_CHECKING:
    from django.http import QueryDict

FIRST_ROWS = 1  # new pools that can be entered without the script


class ResizeForm(forms.Form):
    """One number for each pool; its fields are made from the cluster."""

    key = forms.UUIDField(
        label=_("Form"),
        widget=forms.HiddenInput,
        error_messages=dict.fromkeys(("invalid", "required"), _("Open the form again.")),
    )
    justification = forms.CharField(
        label=_("What it is for"),
        required=False,
        max_length=JUSTIFICATION_LENGTH,
        help_text=format_lazy(
            _("An operator who decides reads it. At most {most} characters."), most=JUSTIFICATION_LENGTH
        ),
        widget=forms.Textarea(attrs={"rows": 3}),
    )

    def __init__(self, *args: Any, pools: list[NodePool], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for pool in pools:
            self.fields[name_of(pool)] = forms.IntegerField(
                label=gettext("Nodes of %(pool)s") % {"pool": pool.name},
                min_value=0,
                max_value=MOST_NODES,
                initial=pool.count,
                help_text=gettext("%(now)d now. 0 to %(most)d; with 0 the pool goes.")
                % {"now": pool.count, "most": MOST_NODES},
                widget=forms.NumberInput(attrs={"inputmode": "numeric"}),
            )


def name_of(pool: NodePool) -> str:
    """The field of a pool's nodes."""
    return f"count-{pool.name}"


@dataclass(frozen=True, slots=True)
class Row:
    """A pool with its field, for the template."""

    pool: NodePool
    field: Any


class ResizeForms:
    """The whole form."""

    def __init__(self, cluster: Cluster, data: QueryDict | None = None, *, more: bool = False) -> None:
        self.data = data
        self.present = pools_of(cluster)
        offered = offerings_of(cluster)
        free = {key: found.free for key, found in capacity.capacity([cluster.site]).items()}
        self.main = ResizeForm(data, pools=self.present, initial={"key": uuid.uuid4()}, auto_id="resize-%s")
        self.new = [
            PoolForm(
                data,
                prefix=f"new-{index}",
                offered=offered,
                free=free,
                auto_id="resize-%s",
                # a row that is left blank is no pool, so it has no errors
                empty_permitted=True,
                use_required_attribute=False,
            )
            for index in range(self._rows(more=more))
        ]
        self._lines: list[Line] | None = None
        self.offered = [(one, free.get((one.site_id, one.flavor_id), 0)) for one in offered]
        self.bounds = bounds()

    @property
    def rows(self) -> list[Row]:
        """The pools that exist."""
        return [Row(pool, self.main[name_of(pool)]) for pool in self.present]

    @property
    def can_grow(self) -> bool:
        """Another row may be added."""
        return len(self.new) + len(self.present) < MOST_POOLS

    def _rows(self, *, more: bool) -> int:
        sent = str(self.data.get("rows", "")) if self.data is not None else ""
        known = int(sent) if sent.isascii() and sent.isdigit() and len(sent) < 3 else FIRST_ROWS
        return max(1, min(known + more, MOST_POOLS))

    def used(self) -> list[PoolForm]:
        """Rows of new pools in which something was entered."""
        return [pool for pool in self.new if not pool.is_blank]

    def is_valid(self) -> bool:
        """Parse everything, so that every message is there at once."""
        results = [self.main.is_valid(), *(pool.is_valid() for pool in self.used())]
        return all(results)

    def request(self) -> ResizeRequest:
        """What was asked for; only when valid."""
        clean = self.main.cleaned_data
        return ResizeRequest(
            counts={pool.name: clean[name_of(pool)] for pool in self.present},
            new=tuple(
                PoolRequest(pool["name"], pool["offering"], pool["count"])
                for pool in (form.cleaned_data for form in self.used())
            ),
            justification=clean["justification"],
        )

    def lines(self) -> list[Line]:
        """Every pool before and after, as far as it can be read already, also after a refusal."""
        if self._lines is not None:
            return self._lines
        clean: dict[str, Any] = {}
        if self.data is not None:
            self.main.is_valid()
            clean = self.main.cleaned_data
        lines = [
            Line(
                pool.name, pool.flavor, pool.count, clean.get(name_of(pool), pool.count), pool.price_per_hour
            )
            for pool in self.present
        ]
        for pool in self.used() if self.data is not None else []:
            pool.is_valid()
            entered = pool.cleaned_data
            if entered.get("offering") and entered.get("count"):
                name = entered.get("name") or gettext("new")
                offering = entered["offering"]
                lines.append(Line(name, offering.flavor, 0, entered["count"], offering.price_per_hour))
        self._lines = lines
        return lines

    def show(self, error: BadInput) -> None:
        """Put a service's refusal beside the fields."""
        self.lines()  # a refused field loses its value, and the summary would lose its pool
        used = self.used()
        for name, message in (error.fields or {"": error.message}).items():
            part, _, rest = name.partition(".")
            index, _, field = rest.partition(".")
            if part == "new" and field:
                used[int(index)].add_error(field, message)
            elif part == "counts" and f"count-{rest}" in self.main.fields:
                self.main.add_error(f"count-{rest}", message)
            else:
                self.main.add_error(name if name in self.main.fields else None, message)

    @property
    def errors(self) -> list[tuple[str, str, str]]:
        """Every error: id of its field, label, message; for the summary above the form."""
        if self.data is None:
            return []
        found = [("", "", str(message)) for message in self.main.non_field_errors()]
        for number, form in enumerate([self.main, *self.used()]):
            for field in form:
                label = str(field.label)
                if number:
                    label = gettext("%(field)s of new pool %(number)d") % {"field": label, "number": number}
                found += [(field.id_for_label or "", label, str(message)) for message in field.errors]
        return found
