"""Reserved exact amounts: the digits below a cent that tell one buyer's payment from another's."""
