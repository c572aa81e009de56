"""Which question comes next, who tells the truth about it, and what was asked so far."""
