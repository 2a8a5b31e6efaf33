"""What both ends of a connection agree on: sizes, numbers and what signatures are for."""
