"""Benchmarks of teachers, encoders and students on a GPU: `make gpu`."""
