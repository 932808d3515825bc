"""What the product is measured against in the same run."""
