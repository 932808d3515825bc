"""Routes of the installation itself: home, health, metrics, the OpenAPI document."""
