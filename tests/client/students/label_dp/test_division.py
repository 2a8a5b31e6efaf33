import numpy as np

from ostraka.client.students.label_dp.aug_descent import probability_right


def test_labels_that_a_network_fits_are_taken_for_right() -> None:
    random = np.random.default_rng(0)
    right, wrong = random.gamma(2, 0.1, 500), random.normal(3, 0.3, 1500)
    probability = probability_right(np.concatenate([right, wrong]))
    assert (probability[:500] > 0.5).mean() > 0.99
    assert (probability[500:] < 0.5).mean() > 0.99


def test_losses_that_are_all_the_same_divide_nothing() -> None:
    assert probability_right(np.full(5, 0.7)).tolist() == [1.0] * 5


def test_the_same_losses_divide_the_same() -> None:
    losses = np.random.default_rng(1).exponential(size=300)
    assert (probability_right(losses, 3) == probability_right(losses, 3)).all()
