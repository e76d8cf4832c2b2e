"""A certificate for 127.0.0.1 and the authority that signed it."""

from __future__ import annotations

import datetime as dt
import ipaddress
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


def certificate_for_loopback(folder: Path) -> tuple[str, str, str]:
    """Paths of the certificate, its key, and the authority."""
    authority_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    authority = _builder("test authority", "test authority", authority_key).add_extension(
        x509.BasicConstraints(ca=True, path_length=0), critical=True
    )
    names = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    leaf = _builder("127.0.0.1", "test authority", key).add_extension(names, critical=False)
    paths = tuple(str(folder / name) for name in ("netris.pem", "netris.key", "authority.pem"))
    encoding, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    secret = key.private_bytes(encoding, form, serialization.NoEncryption())
    signed = leaf.sign(authority_key, hashes.SHA256()).public_bytes(encoding)
    trusted = authority.sign(authority_key, hashes.SHA256()).public_bytes(encoding)
    for path, content in zip(paths, (signed, secret, trusted), strict=True):
        Path(path).write_bytes(content)
    return paths[0], paths[1], paths[2]


def _builder(subject: str, issuer: str, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
    now = dt.datetime.now(dt.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, subject)]))
        .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, issuer)]))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(minutes=5))
        .not_valid_after(now + dt.timedelta(days=1))
    )
