"""Reports of runs: figures, tables and pages."""
