"""What every role shares."""
