"""Fitted estimators in files: which are allowed, their formats, and checks before they predict."""
