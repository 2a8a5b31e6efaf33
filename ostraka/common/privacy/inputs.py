"""Errors of accounting functions."""


class InputError(ValueError):
    """An argument of an accounting function is malformed; names the argument and the first wrong index."""

    def __init__(self, argument: str, message: str, index: tuple[int, ...] = ()) -> None:
        where = f"{argument}[{', '.join(map(str, index))}]" if index else argument
        super().__init__(f"{where}: {message}")
        self.argument = argument
        self.index = index
