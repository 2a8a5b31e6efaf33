"""The guardian's console: what administrators see and set, as pages of a browser."""
