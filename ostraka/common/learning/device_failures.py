"""Refusals where it is a device that fails, and no model or record."""

from collections.abc import Iterator
from contextlib import contextmanager

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.learning.device import Device
from ostraka.common.learning.micro_batches import is_out_of_memory


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
            places = " or ".join(map(str, device.places))
            raise OstrakaError(
                ErrorCode.DEVICE_FULL,
                f"The memory of {places} is full: end what else uses it, name another device, or take a"
                " smaller model, smaller batches or fewer teachers.",
            ) from exc
        device.probe()
        raise
