"""Tables of Tang et al. 2022: 2 and 3, CIFAR10, in percent."""

EPSILONS = (0.5, 1.0, 2.0, 4.0)
PRIVATE = {"rand-res": (15.5, 23.2, 45.2, 85.9), "pate-fm": (93.2, 93.7, 94.9, 94.9)}
ACCURACY = {
    "noise-cluster": (88.3, 88.3, 88.3, 88.3),
    "denoise-ssl": (90.7, 90.8, 91.2, 93.6),
    "ldp-ssl": (36.2, 61.9, 84.6, 92.7),
    "aug-descent": (37.7, 94.1, 95.2, 96.5),
    "pate-fm": (94.1, 94.5, 95.1, 95.1),
    "pate-fm+denoise-ssl": (93.3, 93.6, 93.7, 93.7),
    "pate-fm+ldp-ssl": (93.4, 94.2, 94.5, 94.5),
    "pate-fm+aug-descent": (94.6, 95.0, 95.1, 95.1),
}
NON_PRIVATE = 97.2
