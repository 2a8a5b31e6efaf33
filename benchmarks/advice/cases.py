"""Federations on real tables: those that the advice was developed on, and held-out ones."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Case:
    """A federation on a table.

    Attributes:
        table: name of the table.
        size: number of records drawn from it, including those hidden from the advice.
        parties: number of sites.
        epsilon: of each party.
        skew: Dirichlet concentration; None: sites are alike.
    """

    table: str
    size: int
    parties: int
    epsilon: float
    skew: float | None = None


TUNING_CASES = (
    Case("colleges", 150, 2, 0.5),
    Case("boston", 500, 4, 4),
    Case("breast", 569, 4, 2),
    Case("work", 750, 3, 1),
    Case("colleges", 770, 5, 4),
    Case("wages", 1_000, 3, 8),
    Case("juice", 1_070, 5, 2),
    Case("juice", 1_070, 5, 8, 0.3),
    Case("smokers", 1_600, 4, 2),
    Case("digits", 1_797, 5, 4),
    Case("digits", 1_797, 10, 8, 0.3),
    Case("adult", 2_000, 5, 1),
    Case("trial", 2_100, 7, 4),
    Case("titanic", 2_200, 10, 1),
    Case("titanic", 2_200, 40, 8),
    Case("wages", 3_000, 6, 2),
    Case("default", 3_000, 5, 8, 0.5),
    Case("nhanes", 5_000, 20, 2),
    Case("nhanes", 5_000, 10, 8, 0.3),
    Case("caravan", 5_800, 10, 4),
    Case("credit", 8_000, 2, 4),
    Case("bikes", 8_600, 8, 1),
    Case("bikes", 8_600, 8, 8),
    Case("default", 10_000, 10, 2),
    Case("adult", 12_000, 10, 4),
    Case("cps", 15_900, 30, 2),
    Case("credit", 29_000, 20, 1),
    Case("adult", 48_000, 50, 0.5),
    Case("adult", 48_000, 50, 2, 0.3),
    Case("adult", 48_000, 5, 8),
    Case("wine", 120, 2, 1),
    Case("carseats", 400, 4, 8),
    Case("arrests", 432, 2, 2),
    Case("diabetes", 442, 5, 4),
    Case("heart attacks", 500, 5, 2),
    Case("recurrences", 686, 3, 4),
    Case("kidneys", 860, 4, 8),
    Case("insurance", 1_400, 6, 2),
    Case("countries", 1_700, 5, 2),
    Case("governments", 1_800, 6, 4),
    Case("transfers", 1_940, 4, 1),
    Case("deaths", 2_000, 6, 4),
    Case("yeast", 2_400, 10, 4),
    Case("tests", 2_800, 8, 4),
    Case("wages of 1976", 3_000, 10, 4),
    Case("mortgages", 3_000, 5, 1),
    Case("sentences", 5_000, 10, 2, 0.3),
    Case("earnings", 5_000, 5, 8),
    Case("optdigits", 5_600, 10, 2),
    Case("optdigits", 5_600, 30, 8),
    Case("politicians", 5_590, 20, 4),
    Case("deaths", 7_870, 10, 1),
    Case("deaths", 7_870, 4, 8, 0.3),
    Case("sentences", 16_900, 20, 1),
    Case("sentences", 16_900, 5, 8),
    Case("mortgages", 20_000, 10, 4),
    Case("inspections", 27_000, 40, 2),
    Case("earnings", 30_000, 30, 1),
    Case("mortgages", 50_000, 50, 0.5),
    Case("mortgages", 50_000, 50, 2, 0.3),
)
HELD_CASES = (
    Case("iris", 150, 3, 8),
    Case("births", 180, 2, 1),
    Case("players", 260, 2, 8),
    Case("cars", 390, 4, 4),
    Case("cards", 400, 3, 2),
    Case("emotions", 590, 5, 8),
    Case("affairs", 600, 4, 4),
    Case("pay", 930, 5, 4),
    Case("birth weights", 1_380, 5, 4),
    Case("returns to prison", 1_440, 6, 8),
    Case("loans", 1_980, 4, 8),
    Case("turnout", 2_000, 10, 1),
    Case("denials", 2_380, 3, 4),
    Case("plebiscite", 2_500, 8, 2),
    Case("patients", 2_800, 4, 8, 0.5),
    Case("tumours", 4_000, 10, 8, 0.3),
    Case("pay in Canada", 4_100, 12, 1),
    Case("gifts", 4_200, 20, 4),
    Case("unions", 4_300, 5, 1),
    Case("wives", 5_600, 30, 4),
    Case("computers", 6_200, 8, 2),
    Case("marriages", 6_300, 12, 4, 0.3),
    Case("injuries", 7_100, 10, 8),
    Case("pensions", 9_200, 40, 0.5),
    Case("happiness", 17_000, 20, 4, 0.5),
    Case("outside work", 19_000, 15, 2),
    Case("health insurance", 22_000, 30, 1),
    Case("mothers", 30_000, 50, 0.5),
    Case("diamonds", 50_000, 50, 2),
    Case("cuts", 50_000, 10, 8),
)
