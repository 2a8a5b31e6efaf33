"""A run's report as one HTML page, for people who keep it."""
