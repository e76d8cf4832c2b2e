"""Amounts as Kubernetes writes them: "65536Mi" is answered as "64Gi", "1000m" as "1".

Source: k8s.io/apimachinery/pkg/api/resource, Quantity.
"""

from __future__ import annotations

from decimal import Decimal, InvalidOperation

BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}


def same_quantity(left: object, right: object) -> bool:
    """Whether two are the same amount; what is no amount is the same as nothing."""
    amount = quantity(left)
    return amount is not None and amount == quantity(right)


def quantity(value: object) -> Decimal | None:
    """In units, bytes or cores; None for what is no amount."""
    text = str(value)
    for suffix, power in BINARY.items():
        if text.endswith(suffix):
            return _number(text.removesuffix(suffix), Decimal(2) ** power)
    suffix = text[-1:] if text[-1:].isalpha() else ""
    if suffix not in DECIMAL:
        return None
    return _number(text.removesuffix(suffix) if suffix else text, Decimal(10) ** DECIMAL[suffix])


def _number(text: str, factor: Decimal) -> Decimal | None:
    try:
        return Decimal(text) * factor
    except InvalidOperation:
        return None
