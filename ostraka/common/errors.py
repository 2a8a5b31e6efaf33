"""Errors with stable codes and a sentence: what was wrong and what to do; for wire and screen."""

from collections.abc import Mapping
from enum import StrEnum
from functools import cache
from pathlib import Path

GAP = " [...] "
"""Marks the place of text that was left out."""


def printable(text: str) -> str:
    r"""Return `text` with unprintable characters escaped, such as "\x1b" and "\n".

    Control codes could operate a terminal, line breaks could fake lines of a log, and direction marks could
    reverse text.
    """
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode("ascii") for one in text)


def shorten(text: str, most: int) -> str:
    """Return `text` in at most `most` characters: its beginning and end if it is too long."""
    if len(text) <= most:
        return text
    kept = most - len(GAP)
    return text[: kept // 2] + GAP + text[len(text) - (kept - kept // 2) :]


class Retry(StrEnum):
    """What a caller does after an error, while its run goes on."""

    NEVER = "never"
    """Do not try again; it is refused until somebody changes what the sentence names."""
    SAME = "same"
    """Try again at once: the same call, or the content of a batch that died under a new id."""
    SMALLER = "smaller"
    """Try again with smaller requests."""
    LATER = "later"
    """Try again later; until then the caller continues without that server, or gives up."""


class ErrorCode(StrEnum):
    """All codes that a person or a program may meet; codes are added, never renamed."""

    AGREEMENT_INVALID = "agreement.invalid"
    BATCH_ALTERED = "batch.altered"
    BATCH_BALLOTS_REFUSED = "batch.ballots_refused"
    BATCH_DEAD = "batch.dead"
    BATCH_FORGOTTEN = "batch.forgotten"
    BATCH_FROZEN = "batch.frozen"
    BATCH_NOT_FROZEN = "batch.not_frozen"
    BATCH_OUT_OF_ORDER = "batch.out_of_order"
    BATCH_RESTARTED = "batch.restarted"
    BATCH_TOO_LARGE = "batch.too_large"
    BUDGET_ALREADY_SET = "budget.already_set"
    BUDGET_MISSING = "budget.missing"
    BUDGET_NOTHING_KEPT = "budget.nothing_kept"
    BUDGET_RAISE_REFUSED = "budget.raise_refused"
    BUDGET_TOO_SMALL = "budget.too_small"
    CONFIG_INVALID = "config.invalid"
    CONSENT_UNKNOWN = "consent.unknown"
    CRYPTO_REFUSED = "crypto.refused"
    DATA_AMBIGUOUS = "data.ambiguous"
    DATA_LABEL_RANGE = "data.label_range"
    DATA_MISSING = "data.missing"
    DATA_NAN = "data.nan"
    DATA_NEWER = "data.newer"
    DATA_NOT_NUMERIC = "data.not_numeric"
    DATA_SHAPE = "data.shape"
    DATA_TOO_FEW = "data.too_few"
    DATA_UNREADABLE = "data.unreadable"
    DEVICE_FULL = "device.full"
    DEVICE_MISSING = "device.missing"
    GRANT_EXPIRED = "grant.expired"
    GRANT_INVALID = "grant.invalid"
    GRANT_NOT_YET_VALID = "grant.not_yet_valid"
    GRANT_UNKNOWN = "grant.unknown"
    IDENTITY_EXPIRED = "identity.expired"
    IDENTITY_FOREIGN = "identity.foreign"
    IDENTITY_INVALID = "identity.invalid"
    IDENTITY_NOT_YET_VALID = "identity.not_yet_valid"
    IDENTITY_REVOKED = "identity.revoked"
    IDENTITY_WRONG_ROLE = "identity.wrong_role"
    IDENTITY_WRONG_SERVER = "identity.wrong_server"
    INTERNAL = "internal"
    KIT_ALTERED = "kit.altered"
    KIT_UNEXPECTED = "kit.unexpected"
    LEDGER_ARCHIVE_ALTERED = "ledger.archive_altered"
    LEDGER_EXISTS = "ledger.exists"
    LEDGER_FENCED = "ledger.fenced"
    LEDGER_LOCKED = "ledger.locked"
    LEDGER_MISSING = "ledger.missing"
    LEDGER_NEWER = "ledger.newer"
    LEDGER_OLDER = "ledger.older"
    LEDGER_READ_ONLY = "ledger.read_only"
    LEDGER_TAMPERED = "ledger.tampered"
    LEDGER_UNREACHABLE = "ledger.unreachable"
    MANIFEST_CHANGED = "manifest.changed"
    MANIFEST_DAILY_LIMIT = "manifest.daily_limit"
    MANIFEST_INVALID = "manifest.invalid"
    MESSAGE_INVALID = "message.invalid"
    MESSAGE_TOO_LARGE = "message.too_large"
    MODEL_DIVERGED = "model.diverged"
    MODEL_INVALID = "model.invalid"
    NOISE_NO_ENTROPY = "noise.no_entropy"
    NOISE_SELF_TEST = "noise.self_test"
    PARTY_CAP_REACHED = "party.cap_reached"
    PARTY_DETACHED = "party.detached"
    PARTY_NOT_ENCRYPTED = "party.not_encrypted"
    PARTY_NO_TEACHERS = "party.no_teachers"
    PARTY_REMOVED = "party.removed"
    PARTY_SUSPENDED = "party.suspended"
    PARTY_UNKNOWN = "party.unknown"
    PARTY_UNREACHABLE = "party.unreachable"
    PARTY_UNRECONCILED = "party.unreconciled"
    PLAN_INVALID = "plan.invalid"
    PLAN_RING_TOO_SMALL = "plan.ring_too_small"
    POLICY_DAILY_LIMIT = "policy.daily_limit"
    POLICY_INVALID = "policy.invalid"
    POLICY_OPEN_LIMIT = "policy.open_limit"
    POLICY_REFUSED = "policy.refused"
    POLICY_STOPS_TELL_VOTES = "policy.stops_tell_votes"
    PROCESS_FAILED = "process.failed"
    QUORUM_LOST = "quorum.lost"
    QUORUM_TOO_SMALL = "quorum.too_small"
    RAY_UNREACHABLE = "ray.unreachable"
    RELAY_INTERCEPTED = "relay.intercepted"
    RELAY_QUOTA = "relay.quota"
    RELAY_REPLACED = "relay.replaced"
    RELAY_UNREACHABLE = "relay.unreachable"
    RELAY_UPGRADE_REFUSED = "relay.upgrade_refused"
    RUN_ASKED_BEFORE = "run.asked_before"
    RUN_MISMATCH = "run.mismatch"
    SERVER_BUSY = "server.busy"
    SERVER_DEVICE_GONE = "server.device_gone"
    SERVER_INSECURE_REFUSED = "server.insecure_refused"
    SERVER_PORT_IN_USE = "server.port_in_use"
    SERVER_STOPPING = "server.stopping"
    SERVER_TIMEOUT = "server.timeout"
    SERVER_TLS_OUTDATED = "server.tls_outdated"
    SERVER_UNREACHABLE = "server.unreachable"
    SESSION_CLOSED = "session.closed"
    SESSION_ELSEWHERE = "session.elsewhere"
    SESSION_ENDED = "session.ended"
    SESSION_UNKNOWN = "session.unknown"
    STORAGE_FULL = "storage.full"
    TASK_MISMATCH = "task.mismatch"
    TASK_NUMERIC = "task.numeric"
    TICKET_INVALID = "ticket.invalid"

    @property
    def retry(self) -> Retry:
        """What a caller does after this error, according to the catalogue."""
        return _retries()[self]


CATALOGUE = Path(__file__).with_name("error_catalogue.toml")


@cache
def _retries() -> Mapping[str, Retry]:
    # Read when a caller first has to decide after an error, so that starting up neither parses nor imports.
    import tomllib

    table = tomllib.loads(CATALOGUE.read_text(encoding="utf-8"))
    return {code: Retry(explanation["retry"]) for code, explanation in table.items()}


_STATUS_OF_GROUP = {
    "agreement": "PERMISSION_DENIED",
    "batch": "FAILED_PRECONDITION",
    "budget": "FAILED_PRECONDITION",
    "config": "INVALID_ARGUMENT",
    "consent": "INVALID_ARGUMENT",
    "crypto": "INVALID_ARGUMENT",
    "data": "INVALID_ARGUMENT",
    "device": "FAILED_PRECONDITION",
    "grant": "PERMISSION_DENIED",
    "identity": "PERMISSION_DENIED",
    "internal": "INTERNAL",
    "kit": "FAILED_PRECONDITION",
    "ledger": "FAILED_PRECONDITION",
    "manifest": "INVALID_ARGUMENT",
    "message": "INVALID_ARGUMENT",
    "model": "FAILED_PRECONDITION",
    "noise": "UNAVAILABLE",
    "party": "FAILED_PRECONDITION",
    "plan": "INVALID_ARGUMENT",
    "policy": "PERMISSION_DENIED",
    "process": "INTERNAL",
    "quorum": "FAILED_PRECONDITION",
    "ray": "UNAVAILABLE",
    "relay": "UNAVAILABLE",
    "run": "FAILED_PRECONDITION",
    "server": "UNAVAILABLE",
    "session": "FAILED_PRECONDITION",
    "storage": "RESOURCE_EXHAUSTED",
    "task": "FAILED_PRECONDITION",
    "ticket": "PERMISSION_DENIED",
}

_STATUS_OF_CODE = {
    ErrorCode.BATCH_ALTERED: "ALREADY_EXISTS",
    ErrorCode.BATCH_TOO_LARGE: "INVALID_ARGUMENT",
    ErrorCode.BUDGET_ALREADY_SET: "ALREADY_EXISTS",
    ErrorCode.BUDGET_TOO_SMALL: "RESOURCE_EXHAUSTED",
    ErrorCode.DATA_MISSING: "NOT_FOUND",
    ErrorCode.GRANT_UNKNOWN: "NOT_FOUND",
    ErrorCode.IDENTITY_EXPIRED: "UNAUTHENTICATED",
    ErrorCode.IDENTITY_FOREIGN: "UNAUTHENTICATED",
    ErrorCode.IDENTITY_INVALID: "UNAUTHENTICATED",
    ErrorCode.IDENTITY_NOT_YET_VALID: "UNAUTHENTICATED",
    ErrorCode.IDENTITY_REVOKED: "UNAUTHENTICATED",
    ErrorCode.LEDGER_EXISTS: "ALREADY_EXISTS",
    ErrorCode.LEDGER_FENCED: "UNAVAILABLE",
    ErrorCode.LEDGER_LOCKED: "UNAVAILABLE",
    ErrorCode.LEDGER_MISSING: "NOT_FOUND",
    ErrorCode.LEDGER_UNREACHABLE: "UNAVAILABLE",
    ErrorCode.MANIFEST_DAILY_LIMIT: "RESOURCE_EXHAUSTED",
    ErrorCode.MESSAGE_TOO_LARGE: "RESOURCE_EXHAUSTED",
    ErrorCode.PARTY_CAP_REACHED: "RESOURCE_EXHAUSTED",
    ErrorCode.PARTY_DETACHED: "UNAVAILABLE",
    ErrorCode.PARTY_UNKNOWN: "NOT_FOUND",
    ErrorCode.PARTY_UNREACHABLE: "UNAVAILABLE",
    ErrorCode.POLICY_DAILY_LIMIT: "RESOURCE_EXHAUSTED",
    ErrorCode.POLICY_INVALID: "INVALID_ARGUMENT",
    ErrorCode.POLICY_OPEN_LIMIT: "RESOURCE_EXHAUSTED",
    ErrorCode.QUORUM_TOO_SMALL: "INVALID_ARGUMENT",
    ErrorCode.RELAY_QUOTA: "RESOURCE_EXHAUSTED",
    ErrorCode.SERVER_INSECURE_REFUSED: "FAILED_PRECONDITION",
    ErrorCode.SERVER_TIMEOUT: "DEADLINE_EXCEEDED",
    ErrorCode.SERVER_TLS_OUTDATED: "FAILED_PRECONDITION",
    ErrorCode.SESSION_UNKNOWN: "NOT_FOUND",
}


def status_of(code: ErrorCode) -> str:
    """Return the name of the gRPC status that carries `code`."""
    return _STATUS_OF_CODE.get(code) or _STATUS_OF_GROUP[code.partition(".")[0]]


class OstrakaError(Exception):
    """An error with a stable code, a sentence saying what was wrong and what to do, and public details."""

    def __init__(self, code: ErrorCode, message: str, /, **details: str) -> None:
        """Keep `message` for people and `code` and `details` for programs; all three may be sent to others.

        The message may contain text from callers or other servers, so it is made printable.
        """
        self.message = printable(message)
        super().__init__(self.message)
        self.code = code
        self.details = details
