"""What the querying party's commands show while they work."""
