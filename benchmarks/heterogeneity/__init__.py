"""Teachers whose records differ (Dodwadmath and Stich 2022): `python -m benchmarks.heterogeneity`."""
