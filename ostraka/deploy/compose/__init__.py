"""One-shot services of docker-compose.yml."""
