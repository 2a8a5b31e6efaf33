"""Write notes as nurses of an emergency room might: `python examples/triage_notes.py notes.csv`.

The notes are synthetic: put together with a seed from made-up phrases. They are about nobody, and nothing
medical can be learned from them.
"""

import csv
import sys
from pathlib import Path
from random import Random

RECORDS = 4000
URGENT = (
    "crushing chest pain",
    "short of breath at rest",
    "sudden weakness of one arm",
    "confused and febrile",
    "heavy bleeding, pale",
)
MINOR = (
    "twisted ankle, walks",
    "sore throat for two days",
    "rash on both arms",
    "needs a new prescription",
    "small cut on a finger",
)
SHARED = (
    "no chest pain",
    "not short of breath",
    "came by ambulance",
    "brought by her daughter",
    "headache since this morning",
    "vomited once",
    "known diabetic",
)
"""Said of urgent patients and others; two of them are phrases whose single words mislead."""
OTHERWISE = 0.05
"""Share of patients whose note says the opposite of their urgency."""


def note(random: Random, *, urgent: bool) -> str:
    """Return a patient's note: a leading complaint between phrases that say little."""
    complaint = random.choice(URGENT if urgent != (random.random() < OTHERWISE) else MINOR)
    phrases = [complaint, *random.sample(SHARED, random.randint(1, 3))]
    random.shuffle(phrases)
    return "; ".join(phrases)


def main(path: Path) -> None:
    """Write the table of notes to this file."""
    random = Random(3)  # noqa: S311
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(["age", "note", "urgency"])
        for _ in range(RECORDS):
            urgent = random.random() < 0.3
            age = round(min(max(random.gauss(60 if urgent else 45, 18), 1), 100))
            table.writerow([age, note(random, urgent=urgent), "urgent" if urgent else "can wait"])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
