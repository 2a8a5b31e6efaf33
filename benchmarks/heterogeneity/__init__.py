"""Teachers with heterogeneous records (Dodwadmath and Stich 2022): `python -m benchmarks.heterogeneity`."""
