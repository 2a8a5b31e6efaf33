"""What encrypted queries and blind tallies cost beside the plain path."""
