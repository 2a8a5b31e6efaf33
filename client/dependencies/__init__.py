"""Labels that others imply: learned on own records, and left out of what is asked."""
