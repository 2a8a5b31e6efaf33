"""The largest count after Laplace noise, as the guardian releases it."""

from noisy_max import NoisyMax

from ostraka.mechanisms import Answers, NoiseSource, Rule, Sums, noisy_argmax


class NoisyMaxRule(Rule[NoisyMax]):
    """Every query is answered."""

    def release(self, mechanism: NoisyMax, sums: Sums, noise: NoiseSource) -> Answers:
        """Return the class with the most noisy votes of every query."""
        draws = noise.laplace(mechanism.scale, sums.values.shape)
        return Answers.all(noisy_argmax(sums.values, draws, noise, sums.ring))
