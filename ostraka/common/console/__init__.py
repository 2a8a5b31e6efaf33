"""Code that commands share: options, exit statuses, screens and words."""
