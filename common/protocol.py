"""Constants that both ends of the protocol must agree on."""

PROTOCOL_VERSION = "ostraka.v1"
GRANT_CONTEXT = b"ostraka/v1/grant"
TICKET_CONTEXT = b"ostraka/v1/ticket"
MANIFEST_CONTEXT = b"ostraka/v1/manifest"
AUDIT_CONTEXT = b"ostraka/v1/audit"
AGREEMENT_CONTEXT = b"ostraka/v1/agreement"
RECEIPTS_CONTEXT = b"ostraka/v1/receipts"
