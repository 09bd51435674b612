"""Statistical audits of predictions: gaps between groups, proxies, and bounds for a population."""

from meanparity.audit.auditing import audit
from meanparity.audit.calibration import CalibrationFinding, audit_calibration
from meanparity.audit.certificate import Certificate, parity_certificate
from meanparity.audit.errors import audit_errors
from meanparity.audit.proxies import Proxies, proxies
from meanparity.audit.result import Audit, GroupFinding
from meanparity.audit.stream import AuditStream, StreamFinding

__all__ = [
    "Audit",
    "AuditStream",
    "CalibrationFinding",
    "Certificate",
    "GroupFinding",
    "Proxies",
    "StreamFinding",
    "audit",
    "audit_calibration",
    "audit_errors",
    "parity_certificate",
    "proxies",
]
