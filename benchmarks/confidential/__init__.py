"""Cost of encrypted queries and blind tallies compared with plain sessions."""
