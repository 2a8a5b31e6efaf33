"""What a site's status command says of certificates and of the servers that it calls."""
