"""Date formats that replace Django's for some languages."""
