"""The till: terminals that sell on a phone, their sales, and the page of their counter signs."""
