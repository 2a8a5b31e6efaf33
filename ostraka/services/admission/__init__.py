"""What a party answers at all: its policy, grants and limits."""
