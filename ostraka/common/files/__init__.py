"""Files that people and programs write: whole or not at all, within limits."""
