"""CONTRIBUTING.md followed literally: rows of "How to add something", carried out in a copy of the tree."""
