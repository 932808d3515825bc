"""How a merchant's pages look: colours, logo, style sheet, and the form that sets them."""
