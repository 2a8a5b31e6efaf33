"""A release: source archive and wheel with the same bytes wherever they are built, bills and checksums."""
