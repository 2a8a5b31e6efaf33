"""What both ends of a connection agree on: sizes, numbers, and purposes of signatures."""
