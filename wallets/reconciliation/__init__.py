"""A second look at each chain: recorded transfers compared with further sources, large ones confirmed, missed ones read again."""
