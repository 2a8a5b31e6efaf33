"""Files that people and programs write: written atomically, and read within limits."""
