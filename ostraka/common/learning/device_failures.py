"""Refusals where it is a device that fails, and no model or record."""

from collections.abc import Iterator
from contextlib import contextmanager

from ostraka.common.errors import OstrakaError
from ostraka.common.learning.device import Device, is_out_of_memory, memory_full


@contextmanager
def device_failures(device: Device) -> Iterator[None]:
    """Within the block, say of a failure that it is the device's, where it is.

    What a model raises on a device that works stays as it is.

    Raises:
        OstrakaError: `device.full` where its memory is short, `device.missing` where it computes no more.
    """
    try:
        yield
    except OstrakaError:
        raise
    except Exception as exc:
        if is_out_of_memory(exc):
            raise memory_full(device.places) from exc
        device.probe()
        raise
