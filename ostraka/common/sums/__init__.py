"""Sums over records: public questions whose answer a party adds up over its own records, and nothing else.

Each record's part of every block of a sum is clipped to L2 norm 1 where the record is, whatever is asked, so
that what a record can move is known before (docs/sums.md).
"""
