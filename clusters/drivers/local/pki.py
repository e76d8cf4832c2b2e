"""Keys and certificates of a local control plane: two authorities of its own, leaves of one year."""

from __future__ import annotations

import datetime as dt
import ipaddress
from dataclasses import dataclass

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from portal.lib import clock

AUTHORITY_DAYS, LEAF_DAYS, RENEW_DAYS = 3650, 365, 60
LEEWAY = dt.timedelta(minutes=5)
SERVER_NAMES = ("localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc")
LOOPBACK = "127.0.0.1"


@dataclass(frozen=True, slots=True, repr=False)
class Pair:
    """A certificate and its key, both PEM."""

    certificate: bytes
    key: bytes


def new_key() -> bytes:
    """A private key (P-256), PEM."""
    return ec.generate_private_key(ec.SECP256R1()).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def public_pem(key: bytes) -> bytes:
    """The public half of a key, PEM."""
    return (
        _private(key)
        .public_key()
        .public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    )


def new_authority(name: str) -> Pair:
    """An authority that signs itself."""
    key = new_key()
    subject = _name(name)
    builder = _builder(subject, subject, key, dt.timedelta(days=AUTHORITY_DAYS))
    own = x509.SubjectKeyIdentifier.from_public_key(_private(key).public_key())
    builder = builder.add_extension(own, critical=False)
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    usage = _usage(signs=True)
    return Pair(_signed(builder.add_extension(usage, critical=True), key), key)


def leaf(
    authority: Pair,
    name: str,
    *,
    groups: tuple[str, ...] = (),
    serves: tuple[str, ...] = (),
    key: bytes = b"",
    lasts: dt.timedelta = dt.timedelta(days=LEAF_DAYS),
) -> Pair:
    """A client's certificate, and a server's too for the names and addresses that it serves."""
    key = key or new_key()
    issuer = x509.load_pem_x509_certificate(authority.certificate).subject
    builder = _builder(_name(name, groups), issuer, key, lasts)
    purposes = [ExtendedKeyUsageOID.CLIENT_AUTH]
    if serves:
        purposes.append(ExtendedKeyUsageOID.SERVER_AUTH)
        names = x509.SubjectAlternativeName([_general(one) for one in serves])
        builder = builder.add_extension(names, critical=False)
    above = x509.AuthorityKeyIdentifier.from_issuer_public_key(_private(authority.key).public_key())
    builder = builder.add_extension(above, critical=False)
    builder = builder.add_extension(x509.ExtendedKeyUsage(purposes), critical=False)
    builder = builder.add_extension(_usage(signs=False), critical=True)
    builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
    return Pair(_signed(builder, authority.key), key)


def is_fresh(certificate: bytes) -> bool:
    """Whether it lasts long enough to be left alone."""
    return ends(certificate) > clock.now() + dt.timedelta(days=RENEW_DAYS)


def ends(certificate: bytes) -> dt.datetime:
    """When it ends."""
    return x509.load_pem_x509_certificate(certificate).not_valid_after_utc


def is_for(certificate: bytes, key: bytes) -> bool:
    """Whether the certificate is that of a key."""
    found = x509.load_pem_x509_certificate(certificate).public_key()
    form = serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    return found.public_bytes(*form) == public_pem(key)


def fingerprint(certificate: bytes) -> str:
    """SHA-256, as tools print it."""
    digest = x509.load_pem_x509_certificate(certificate).fingerprint(hashes.SHA256())
    return digest.hex(":").upper()


def _private(key: bytes) -> ec.EllipticCurvePrivateKey:
    loaded = serialization.load_pem_private_key(key, password=None)
    if not isinstance(loaded, ec.EllipticCurvePrivateKey):
        raise TypeError("The key is not one of ours.")
    return loaded


def _name(name: str, groups: tuple[str, ...] = ()) -> x509.Name:
    attributes = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
    return x509.Name([*attributes, x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _general(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _builder(
    subject: x509.Name, issuer: x509.Name, key: bytes, lasts: dt.timedelta
) -> x509.CertificateBuilder:
    now = clock.now()
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(_private(key).public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - LEEWAY)
        .not_valid_after(now + lasts)
    )


def _usage(*, signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=signs,
        crl_sign=signs,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _signed(builder: x509.CertificateBuilder, key: bytes) -> bytes:
    certificate = builder.sign(_private(key), hashes.SHA256())
    return certificate.public_bytes(serialization.Encoding.PEM)
