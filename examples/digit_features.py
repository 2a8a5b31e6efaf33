"""Write features of images by a public encoder: `python examples/digit_features.py features.npz`.

The encoder is the hidden layer of a network that learned which digit it sees, from half of the handwritten
digits of scikit-learn; these stand for public images. The other half stands for the sites' images. What sites
know of theirs is another question: whether the digit is above four. `pixels.npz` has the same images as they
are.
"""

import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.neural_network import MLPClassifier

FEATURES = 32


def learn(images: NDArray[np.float32], digits: NDArray[np.int64]) -> MLPClassifier:
    """Return a network with one hidden layer of FEATURES values that tells public images apart."""
    return MLPClassifier(FEATURES, max_iter=500, random_state=0).fit(images, digits)


def encode(network: MLPClassifier, images: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the hidden layer's values for images (n, pixels), as (n, FEATURES)."""
    return np.maximum(images @ network.coefs_[0] + network.intercepts_[0], 0).astype(np.float32)


def main(path: Path) -> None:
    """Write the sites' images, or features of them, into the file that is called so."""
    data = load_digits()
    images = (data.data / 16).astype(np.float32)
    public = np.arange(len(images)) % 2 == 0
    held = images[~public]
    records = encode(learn(images[public], data.target[public]), held) if path.stem == "features" else held
    np.savez(path, X=records, y=(data.target[~public] > 4).astype(np.int64))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
