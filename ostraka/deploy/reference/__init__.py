"""Reference pages of the documentation that are generated from the code when the site is built."""
