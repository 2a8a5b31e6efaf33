"""What a Gaussian filter pays for compared with the best Renyi order: budgets, and trainings with
`dp_ttac`."""

import math

from ostraka.common.mechanism import Binary, DpTtac, GnMax, Mechanism, Recipe
from ostraka.common.planning.candidate import Candidate, propose_order
from ostraka.common.privacy import ORDERS, budget_rdp, epsilon
from ostraka.common.privacy.filters import GAUSSIAN
from ostraka.common.privacy.gaussian import gaussian_budget

DELTA = 1e-5
"""The delta of the pages whose trainings are compared."""
EPSILONS = (0.5, 1.0, 2.0, 4.0, 8.0, 10.0, 20.0)
TRAININGS = ((20, 10.0, 650), (29, 23.5, 7674))
"""Rounds, noise in radii and parameters: from docs/training.md on digits and from docs/heterogeneity.md."""
CLASSES = 10
"""Of trainings, whose cost does not depend on it, and of votes."""
SIGMAS = (0.5, 1.0, 1.5, 2.0, 3.0, 5.0, 20.0, 40.0)
BUDGETS = (1.0, 4.0, 8.0, 20.0, 100.0)
"""With these sigmas, from hardly hidden votes to public records."""


def main() -> None:
    """Print what budgets allow, what trainings cost, and for which votes a Gaussian filter pays for more."""
    for budget in EPSILONS:
        rho = gaussian_budget(budget, DELTA)
        more = rho / max(budget_rdp(budget, DELTA, order) / order for order in ORDERS) - 1
        print(f"epsilon {budget:g}: mu {math.sqrt(2 * rho):.4f}, a Gaussian filter pays for {more:.1%} more")
    for rounds, sigma, parameters in TRAININGS:
        recipe = Recipe(model="logistic", parameters=parameters, steps=1, batch_size=1, learning_rate=1.0)
        one = DpTtac(recipe=recipe, radius=1.0, sigma=sigma)
        renyi, order = min((_training(one, rounds, order), order) for order in ORDERS)
        ours = _training(one, rounds, GAUSSIAN)
        what = f"dp_ttac, {rounds} rounds, sigma {sigma:g}, {parameters:,} parameters"
        print(f"{what}: epsilon {renyi:.3f} at order {order:g}, {ours:.3f} by a Gaussian filter")
    tried: list[tuple[Mechanism, float]] = [
        (GnMax(sigma=sigma), budget) for sigma in SIGMAS for budget in BUDGETS
    ]
    tried += [(Binary(sigma=sigma), budget) for sigma in SIGMAS for budget in BUDGETS]
    for mechanism, budget in tried:
        if propose_order(Candidate(mechanism, CLASSES), budget, DELTA) == GAUSSIAN:
            print(f"{mechanism}, epsilon {budget:g}: a Gaussian filter pays for more")
    print(f"of {len(tried)} mechanisms and budgets")


def _training(mechanism: DpTtac, rounds: int, order: float) -> float:
    """Return the epsilon of all rounds under a filter of this order."""
    return epsilon(rounds * mechanism.worst_case(order, classes=CLASSES).answer, order, DELTA)


if __name__ == "__main__":
    main()
