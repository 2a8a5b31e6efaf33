"""Text that others wrote, made harmless where people read it: in logs, sentences and tables."""

GAP = " [...] "
"""Stands for what was left out."""


def printable(text: str) -> str:
    r"""`text` with everything escaped that is not printable, as in "\x1b" and "\n".

    Control codes would drive a terminal, line breaks begin a line that nobody logged, and marks of direction
    turn text around.
    """
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode("ascii") for one in text)


def shortened(text: str, most: int) -> str:
    """`text` in at most `most` characters; where it is too long, its beginning and its end."""
    if len(text) <= most:
        return text
    kept = most - len(GAP)
    return text[: kept // 2] + GAP + text[len(text) - (kept - kept // 2) :]
