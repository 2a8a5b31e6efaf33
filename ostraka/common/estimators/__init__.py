"""Fitted estimators in files: which are allowed, how they are kept, what is checked before they predict."""
