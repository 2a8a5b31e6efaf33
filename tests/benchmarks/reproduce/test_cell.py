import pytest

from benchmarks.reproduce.cell import Cell, Claim, Figure, Outcome, Word


@pytest.mark.parametrize(
    ("values", "better", "word"),
    [
        ((10.4,), None, Word.MET),
        ((9.6,), "higher", Word.MET),
        ((11.0,), None, Word.DIFFERS),
        ((11.0,), "higher", Word.BETTER),
        ((9.0,), "higher", Word.DIFFERS),
        ((9.0,), "lower", Word.BETTER),
        ((9.0, 10.5), None, Word.MET),
        ((7.0, 7.1), "higher", Word.DIFFERS),
    ],
)
def test_a_number_is_met_within_a_twentieth_or_two_deviations(
    values: tuple[float, ...], better: None, word: Word
) -> None:
    assert Figure("labels", values, 10.0, better).word == word


def test_a_number_without_the_papers_has_no_word() -> None:
    figure = Figure("labels", (1.0, 3.0))
    assert (figure.mean, figure.word) == (2.0, None)
    assert figure.deviation == pytest.approx(2**0.5)
    assert Figure("labels", (1.0,)).deviation is None


def test_an_outcome_is_as_good_as_its_worst_number_and_claim() -> None:
    met, better, differs = (
        Figure("a", (1.0,), 1.0),
        Figure("b", (2.0,), 1.0, "higher"),
        Figure("c", (2.0,), 1.0),
    )
    assert Outcome((met,)).word == Word.MET
    assert Outcome((met, better)).word == Word.BETTER
    assert Outcome((met, better, differs)).word == Word.DIFFERS
    assert Outcome((better,), (Claim("less", holds=False),)).word == Word.DIFFERS
    assert Outcome((), (Claim("less", holds=True),)).word == Word.MET


def test_what_is_compared_with_nothing_or_on_other_data_differs() -> None:
    assert Outcome((Figure("a", (1.0,)),)).word == Word.DIFFERS
    met = Outcome((Figure("a", (1.0,), 1.0),))
    assert Cell("x", "", "").word(met) == Word.MET
    assert Cell("x", "", "", other="yeast").word(met) == Word.DIFFERS


def test_a_cell_without_a_command_says_why() -> None:
    cell = Cell("x-table-1", "costs", "5", lacking=Word.NOT_PUBLISHED, why="No data.")
    assert (cell.lacking, cell.run, cell.why) == (Word.NOT_PUBLISHED, None, "No data.")
