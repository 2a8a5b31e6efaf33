"""Administrative operations: one table behind the command line, the console's forms and the RPCs."""
