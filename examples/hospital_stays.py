"""Write stays in hospitals as a table: `python examples/hospital_stays.py readmitted.csv`.

The stays are synthetic: drawn with a seed from made-up distributions. They are about nobody, and nothing
medical can be learned from them. The file's name says what is to be predicted: `readmitted.csv` whether the
patient came back within a month, `sepsis.csv` whether there is a sepsis, `days.csv` how many days the patient
stayed, `complications.csv` which of four complications there were.
"""

import csv
import math
import sys
from pathlib import Path
from random import Random

STAYS = 3000
Stay = dict[str, float | str]


def draw_stay(random: Random) -> Stay:
    """Return what is known of a patient at admission."""
    ward = random.choices(("surgery", "medicine", "geriatrics"), (3, 4, 2))[0]
    return {
        "age": round(min(max(random.gauss(81 if ward == "geriatrics" else 58, 15), 18), 104)),
        "ward": ward,
        "emergency": random.choice(("no", "yes")),
        "earlier_stays": min(int(random.expovariate(0.7)), 9),
        "drugs": min(int(random.gammavariate(2, 2)), 20),
        "temperature": round(random.gauss(37.4, 0.8), 1),
        "crp": round(min(random.lognormvariate(3, 1), 400), 1),
        "creatinine": round(min(random.lognormvariate(0, 0.4), 9), 2),
        "haemoglobin": round(random.gauss(13, 1.8), 1),
    }


def happens(random: Random, score: float) -> bool:
    """Return whether something happens whose log-odds are this score."""
    return random.random() < 1 / (1 + math.exp(-score))


def yes_or_no(random: Random, score: float) -> str:
    """Return yes where something happens whose log-odds are this score."""
    return "yes" if happens(random, score) else "no"


def number(stay: Stay, name: str) -> float:
    """Return a measured value of a stay."""
    return float(stay[name])


def draw_readmitted(random: Random, stay: Stay) -> Stay:
    """Return whether the patient comes back: more likely with each value out of range, on either side."""
    ranges = {"temperature": (36.8, 38), "haemoglobin": (11.7, 14.3), "creatinine": (0.75, 1.35)}
    outside = sum(not low <= number(stay, name) <= high for name, (low, high) in ranges.items())
    return {"readmitted": yes_or_no(random, 3.5 * outside - 5)}


def draw_sepsis(random: Random, stay: Stay) -> Stay:
    """Return whether there is a sepsis."""
    return {
        "sepsis": yes_or_no(
            random, 4 * (number(stay, "temperature") - 38) + 2 * math.log(number(stay, "crp")) - 5
        )
    }


def draw_days(random: Random, stay: Stay) -> Stay:
    """Return how long the patient stays."""
    ward = {"surgery": 1.0, "medicine": 2.0, "geriatrics": 5.0}[str(stay["ward"])]
    ill = (
        0.06 * (number(stay, "age") - 60) + 1.2 * math.log(number(stay, "crp")) + 0.4 * number(stay, "drugs")
    )
    return {"days": round(min(max(ward + ill + random.gauss(0, 2), 1), 40), 1)}


def draw_complications(random: Random, stay: Stay) -> Stay:
    """Return 1 for each complication that there is, and 0 for the others."""
    old = (number(stay, "age") - 60) / 10
    scores = {
        "sepsis": 2.5 * (number(stay, "temperature") - 38) + math.log(number(stay, "crp")) - 3,
        "delirium": 1.5 * old + 0.4 * number(stay, "drugs") - 4,
        "kidney_failure": 4 * (number(stay, "creatinine") - 1.3),
        "anaemia": 2 * (11.5 - number(stay, "haemoglobin")),
    }
    return {name: int(happens(random, score)) for name, score in scores.items()}


TARGETS = {
    "readmitted": draw_readmitted,
    "sepsis": draw_sepsis,
    "days": draw_days,
    "complications": draw_complications,
}


def main(path: Path) -> None:
    """Write the table that the file is named after."""
    random = Random(5)  # noqa: S311
    stays = [draw_stay(random) for _ in range(STAYS)]
    rows = [stay | TARGETS[path.stem](random, stay) for stay in stays]
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, list(rows[0]))
        table.writeheader()
        table.writerows(rows)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
