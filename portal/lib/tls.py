"""A TLS context that trusts the authorities of one outside system and no others."""

from __future__ import annotations

import ssl

from portal.lib.errors import PermanentError


def trusting(authorities: bytes) -> ssl.SSLContext:
    """Of CA certificates in PEM. Raises PermanentError BadCertificate where they cannot be read."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_verify_locations(cadata=authorities.decode("ascii"))
    except (ssl.SSLError, UnicodeDecodeError, ValueError) as error:
        raise PermanentError(
            "BadCertificate",
            "A CA certificate of the site is not readable PEM.",
            hint="Correct it in the site's settings.",
        ) from error
    return context
