"""What is said of an error in people's own factories."""

import pytest
import torch

from ostraka.common.learning.factories import _MAX_CHARACTERS, words_of

AROUND = len('Error(s) in loading state_dict for Identity:\\n\\tUnexpected key(s) in state_dict: "". ')


def words_of_torch(characters: int) -> str:
    """Have torch refuse parameters in a sentence that is printed in so many characters."""
    with pytest.raises(RuntimeError) as failed:
        torch.nn.Identity().load_state_dict({"x" * (characters - AROUND): torch.zeros(1)})
    return words_of(failed.value).removeprefix("RuntimeError: ")


def test_so_many_characters_of_what_torch_says_are_told() -> None:
    whole, cut = words_of_torch(_MAX_CHARACTERS), words_of_torch(_MAX_CHARACTERS + 1)
    assert len(whole) == len(cut) == _MAX_CHARACTERS
    assert ("x" * 100 in whole, " [...] " in whole, " [...] " in cut) == (True, False, True)
