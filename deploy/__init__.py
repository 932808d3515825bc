"""What installs and keeps Florin on a machine."""
