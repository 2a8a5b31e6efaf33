"""What `ostraka site check` looks at: small functions, each of which finds one thing."""
