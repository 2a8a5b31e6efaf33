"""Terminal output of commands, tables included; text of other sites is escaped."""

from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from ostraka.common.printable import printable


class Screen(Console):
    """A console that takes no text for markup and shows control codes escaped."""

    def __init__(self, *, stderr: bool = False, soft_wrap: bool = False) -> None:
        """Print to stdout, or to `stderr`; `soft_wrap` leaves long lines to the terminal."""
        super().__init__(stderr=stderr, soft_wrap=soft_wrap, markup=False, emoji=False)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Yield the pieces of text that `renderable` is printed as; line breaks between them stay."""
        for text, style, control in super().render(renderable, options):
            yield Segment(text if control else "\n".join(map(printable, text.split("\n"))), style, control)
