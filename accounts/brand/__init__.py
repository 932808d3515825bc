"""Branding: colours, logo, style sheet, and the form that sets them."""
