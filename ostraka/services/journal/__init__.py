"""What a party keeps of what it answered, and what it tells of that."""
