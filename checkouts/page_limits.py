"""What one client may ask of one checkout's page in a minute, from web and stream servers together."""

from gateway.core.ratelimit import Limit

# Opening a stream counts as one of these.
STATUS = Limit("checkout.status", 60)
