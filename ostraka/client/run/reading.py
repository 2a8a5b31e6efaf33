"""What the querying party should know about how its own files were read."""

from collections.abc import Mapping

from ostraka.common.datasets import Dataset


def tell_reading(records: Mapping[str, Dataset | None]) -> tuple[str, ...]:
    """Return what was guessed or left out while records were read, one sentence each, after their name."""
    return tuple(
        f"{name}: {sentence}"
        for name, one in records.items()
        for sentence in (() if one is None else one.read_as)
    )
