"""A mechanism that Ostraka does not have, written as CONTRIBUTING.md says."""
