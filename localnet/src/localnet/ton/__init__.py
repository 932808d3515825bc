"""A local TON: toncenter's HTTP interface, version 3, over a real TVM."""
