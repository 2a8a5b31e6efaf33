"""Calls to the guardian and to answering parties."""
