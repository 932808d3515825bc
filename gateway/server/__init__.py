"""The web server's front: requests are read on its event loop before a thread is taken."""
