"""What a party agrees to answer: its policy, grants and limits."""
