"""Statistical audits of predictions: gaps between groups, proxies, and bounds for a population."""

from meanparity.audit.certificate import Certificate, parity_certificate
from meanparity.audit.auditing import audit
from meanparity.audit.proxies import Proxies, proxies
from meanparity.audit.result import Audit, GroupFinding

__all__ = [
    "Audit",
    "Certificate",
    "GroupFinding",
    "Proxies",
    "audit",
    "parity_certificate",
    "proxies",
]
