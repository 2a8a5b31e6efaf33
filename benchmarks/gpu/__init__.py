"""What a GPU does with teachers, encoders and students: `make gpu`."""
