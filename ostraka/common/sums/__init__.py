"""Sums over records: public questions whose answer is all that a party computes from its own records.

The site of a record clips the record's part of every block of a sum to L2 norm 1, whatever the question. So
the maximum effect of a record is known in advance (docs/sums.md).
"""
