"""Privacy guarantees of an epsilon, in words."""

from collections.abc import Mapping

NOTIONS: Mapping[str, str] = {"record": "DP for records", "label": "label-DP"}
"""By the adjacency that was charged: a whole record may differ, or its label alone."""
NO_GUARANTEE = "no formal guarantee"
"""In place of either, where teachers learned together by ttac: an epsilon then counts labels and protects
nobody."""
