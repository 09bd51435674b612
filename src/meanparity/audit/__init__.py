"""What predictions say about groups, with uncertainty."""

from meanparity.audit.certificate import Certificate, parity_certificate
from meanparity.audit.compare import audit
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
