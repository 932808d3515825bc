"""The web process's front: it reads requests and waits for others on an event loop, and lets Django answer in threads."""
