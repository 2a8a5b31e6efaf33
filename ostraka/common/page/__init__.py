"""HTML pages from Jinja2 templates: one environment, and the templates that pages share."""
