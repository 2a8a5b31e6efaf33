"""`ostraka query`: one file for each command or group of options."""
