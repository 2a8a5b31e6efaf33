"""Write tables as four hospitals might have them: `python examples/hospital_tables.py tables`.

The records are synthetic: drawn with a seed from made-up distributions. They are about nobody, and nothing
medical can be learned from them. Each of three answering hospitals gets one table of labelled records; the
fourth, `west`, has a few labelled records, a pool without diagnoses, and a test table. Tables are written as
spreadsheets in much of Europe write them: `;` between columns, decimal commas, dates such as 31.12.2025,
gaps, free text.
"""

import csv
import sys
from collections.abc import Mapping
from pathlib import Path
from random import Random

TABLES = {"north": 600, "south": 600, "east": 600, "west-labelled": 40, "west-pool": 60, "west-test": 300}
"""Records of each table."""
UNLABELLED = "west-pool"
GAPS = {"crp": 0.1, "smoker": 0.15}
"""Share of values that nobody entered."""
NOTES = (
    "seen in the night",
    "came with her daughter",
    "referred by Dr Lind",
    "walks with a stick",
    "no complaints",
)


def draw(random: Random, patient: str) -> dict[str, str]:
    """Return one made-up patient, as a row of text."""
    sick = random.random() < 0.4
    row = {
        "patient_id": patient,
        "age": str(round(min(max(random.gauss(68 if sick else 58, 15), 18), 100))),
        "temperature": decimal(random.gauss(38.6 if sick else 37.2, 0.7)),
        "crp": decimal(min(random.lognormvariate(4.8 if sick else 2.8, 0.8), 490)),
        "sex": random.choice("fm"),
        "ward": random.choices(("surgery", "medicine", "intensive care"), (1, 3, 2) if sick else (3, 4, 1))[
            0
        ],
        "smoker": random.choice(("yes", "no", "no")),
        "admitted": f"{random.randint(1, 28):02}.{random.randint(1, 12):02}.{random.randint(2021, 2025)}",
        "notes": f"{random.choice(NOTES)}, bed {random.randint(1, 400)}",
        "diagnosis": "sepsis" if sick else "none",
    }
    return row | {column: "" for column, share in GAPS.items() if random.random() < share}


def decimal(value: float) -> str:
    """Return a number with one decimal after a comma."""
    return f"{value:.1f}".replace(".", ",")


def write(path: Path, rows: list[Mapping[str, str]]) -> None:
    """Write the rows as a spreadsheet program does."""
    with path.open("w", newline="", encoding="utf-8-sig") as file:
        table = csv.DictWriter(file, fieldnames=list(rows[0]), delimiter=";")
        table.writeheader()
        table.writerows(rows)


def main(folder: Path) -> None:
    """Write every hospital's tables into this folder."""
    folder.mkdir(parents=True, exist_ok=True)
    random = Random(7)  # noqa: S311
    for name, count in TABLES.items():
        rows = [draw(random, f"{name[0].upper()}{name[-1].upper()}-{number:04}") for number in range(count)]
        if name == UNLABELLED:
            for row in rows:
                del row["diagnosis"]
        write(folder / f"{name}.csv", list(rows))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
