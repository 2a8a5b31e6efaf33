"""What a session asks for, and what both sides derive from it."""
