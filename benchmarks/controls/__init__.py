"""The controls that the product is compared with in the same run."""
