"""The public network that a querying site's records go through before they are asked about, if any."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ostraka.client.run.options import PlanOptions
from ostraka.common.config import SiteConfig, load_section
from ostraka.common.learning.encoders import Encoder, load_encoder
from ostraka.common.validation import FrozenModel


class QuerySection(FrozenModel):
    """The table [query] of a querying site's site.toml."""

    encoder: str = ""
    """The public network in front of records that are asked about, as "module:function"; empty: none."""


@dataclass(frozen=True)
class SiteEncoder:
    """An encoder and the digest of its weights; none of both where records are asked about as they are."""

    _encoder: Encoder | None = field(default=None, repr=False)

    @property
    def name(self) -> str:
        """Its factory, empty for none."""
        return "" if self._encoder is None else self._encoder.name

    @property
    def sha256(self) -> bytes:
        """The digest of its weights, empty for none."""
        return b"" if self._encoder is None else self._encoder.sha256

    def encode(self, records: NDArray[np.float32]) -> NDArray[np.float32]:
        """Features (n, F') float32 of prepared records (n, F); raises `model.invalid` if it takes others."""
        return records if self._encoder is None else self._encoder.encode(records)


def site_encoder(site: SiteConfig, options: PlanOptions) -> SiteEncoder:
    """Return the encoder that the options name, or else the site's configuration.

    Raises `model.invalid` where it cannot be loaded, `config.invalid` for a table [query] that is wrong.
    """
    name = options.encoder
    if name is None:
        name = load_section(site.folder, "query", QuerySection).encoder
    return SiteEncoder(load_encoder(name)) if name else SiteEncoder()
