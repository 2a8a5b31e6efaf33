"""Cross-entropy between logits and soft targets."""

import torch
from torch import Tensor
from torch.nn import functional


def losses(logits: Tensor, targets: Tensor, *, multi_label: bool) -> Tensor:
    """Cross-entropy of every record, (n,).

    Args:
        logits: (n, classes), or (n, k) of k labels.
        targets: probabilities of the same shape; of labels also UNKNOWN, which counts for nothing.
        multi_label: whether every label is a question of its own; a record's loss is their mean.
    """
    if not multi_label:
        return functional.cross_entropy(logits, targets, reduction="none")
    known = targets >= 0
    each = functional.binary_cross_entropy_with_logits(logits, targets.clamp(min=0), reduction="none")
    return (each * known).sum(dim=1) / known.sum(dim=1).clamp(min=1)


def probabilities(logits: Tensor, *, multi_label: bool) -> Tensor:
    """Of classes, or of each label to be 1, float32 of the logits' shape."""
    return logits.float().sigmoid() if multi_label else torch.softmax(logits.float(), dim=1)
