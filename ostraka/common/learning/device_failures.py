"""Errors for failures of a device, as opposed to those of a model or record."""

from collections.abc import Iterator
from contextlib import contextmanager

from ostraka.common.errors import OstrakaError
from ostraka.common.learning.device import Device, is_out_of_memory, memory_full


@contextmanager
def device_failures(device: Device) -> Iterator[None]:
    """Within the block, raise a device error for failures that the device caused.

    What a model raises on a working device stays as it is.

    Raises:
        OstrakaError: `device.full` if its memory is short, `device.missing` if it no longer computes.
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
