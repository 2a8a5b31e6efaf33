"""The largest count after Laplace noise: its release, charged at worst."""

from ostraka.guardian.mechanisms import Answers, Rule, Sums
from ostraka.guardian.mechanisms.argmax import noisy_argmax
from ostraka.guardian.noise import NoiseSource
from tests.toy_mechanism.noisy_max import NoisyMax


class NoisyMaxRule(Rule[NoisyMax]):
    """Every query is answered."""

    def release(self, mechanism: NoisyMax, sums: Sums, noise: NoiseSource) -> Answers:
        """Return the class with the most noisy votes of every query."""
        draws = noise.laplace(mechanism.scale, sums.values.shape)
        return Answers.all(noisy_argmax(sums.values, draws, noise, sums.ring))
