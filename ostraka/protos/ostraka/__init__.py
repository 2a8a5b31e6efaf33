"""The ostraka protocol package."""
