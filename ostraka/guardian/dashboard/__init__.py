"""The guardian's console: what administrators see and set, as pages in a browser."""
