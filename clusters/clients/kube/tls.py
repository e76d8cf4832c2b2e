"""TLS for one API server: its own CA is the only one that is trusted."""

from __future__ import annotations

import os
import ssl
from collections.abc import Iterator
from contextlib import contextmanager

from clusters.clients.kube.models import Access
from portal.lib.errors import PermanentError


def context_for(access: Access) -> ssl.SSLContext:
    """A context that trusts the CA of `access` alone and shows its certificate, if it has one."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_verify_locations(cadata=access.ca_pem.decode("ascii"))
        if access.certificate_pem:
            with _in_memory(access.certificate_pem) as chain, _in_memory(access.key_pem) as key:
                context.load_cert_chain(chain, key)
    except (ssl.SSLError, UnicodeDecodeError, ValueError) as error:
        raise PermanentError(
            "BadCertificate",
            "The CA or the client certificate for the API server is not readable PEM.",
            hint="Correct it in the site's settings.",
        ) from error
    return context


@contextmanager
def _in_memory(content: bytes) -> Iterator[str]:
    # OpenSSL reads keys from files only; this one never touches a disk
    descriptor = os.memfd_create("freehold-tls", os.MFD_CLOEXEC)
    try:
        os.write(descriptor, content)
        yield f"/proc/self/fd/{descriptor}"
    finally:
        os.close(descriptor)
