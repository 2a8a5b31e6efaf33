"""Encryption schemes by the kind of head, each imported when it is used."""

from ostraka.common.crypto.inference import Scheme
from ostraka.common.crypto.logits import Head


def scheme_of(head: Head) -> Scheme:
    """Return the scheme under which heads of this kind run.

    Raises `config.invalid` where the library that heads with squares need is of another version than the one
    they are written for.
    """
    if head == "linear":
        from ostraka.common.crypto.linear.linear_scheme import LinearScheme

        return LinearScheme()
    from ostraka.common.crypto.ckks.ckks_scheme import CkksScheme

    return CkksScheme()
