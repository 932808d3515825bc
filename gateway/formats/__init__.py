"""Date formats that replace Django's where those do not fit our pages."""
