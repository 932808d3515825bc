"""Django's PostgreSQL backend with a cheaper health check and limits on idle transactions."""
