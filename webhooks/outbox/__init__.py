"""The outbox: publishing events and listing their deliveries."""
