"""Reserved exact amounts: the digits below a cent that identify a buyer's payment."""
