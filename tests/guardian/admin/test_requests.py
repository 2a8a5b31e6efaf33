"""What administrators send is checked before anything acts on it."""

from collections.abc import Callable

import pytest

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.wire.limits import MAX_LENGTH
from ostraka.guardian.admin.requests import MAX_GROUP_CHARS, MAX_SESSION_CHARS, reason, session_id, unit_key

LONGEST: dict[str, tuple[Callable[[str], object], int]] = {
    "group": (lambda group: unit_key("a", group, "record"), MAX_GROUP_CHARS),
    "session": (session_id, MAX_SESSION_CHARS),
    "reason": (reason, MAX_LENGTH),
}


@pytest.mark.parametrize(("check", "most"), LONGEST.values(), ids=LONGEST)
def test_a_text_has_so_many_printable_characters(check: Callable[[str], object], most: int) -> None:
    check("x" * most)
    for text in ("x" * (most + 1), "", "x\0"):
        with pytest.raises(OstrakaError) as refused:
            check(text)
        assert refused.value.code is ErrorCode.MESSAGE_INVALID
