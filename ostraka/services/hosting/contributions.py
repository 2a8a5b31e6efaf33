"""Checks of how much one person's records may change against the party's declaration."""

from ostraka.common.datasets import Dataset
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.task import Task
from ostraka.common.task.persons import Persons
from ostraka.services.admission.policy import PartyPolicy


def require_votes(persons: Persons | None, votes_per_person: int, what: str) -> None:
    """Raise `config.invalid` if a person has more records than `votes_per_person`.

    For settings, named in `what`, where records count individually: assigning persons to teachers as a whole
    bounds nothing there. If persons are unknown, the party vouches for the number.
    """
    if persons is None or persons.most <= votes_per_person:
        return
    unit = "person" if persons.stated else "id"
    raise OstrakaError(
        ErrorCode.CONFIG_INVALID,
        f"One {unit} has {persons.most} records (by '{persons.id}'), and max_votes_per_person in [party] of"
        f" site.toml is {votes_per_person}, though {what}: set it to {persons.most}, or keep fewer records"
        f" of each {unit}.",
    )


def check_policy(task: Task, records: Dataset, policy: PartyPolicy, votes_per_person: int) -> Persons | None:
    """Return the persons of a party's records, None if they are unknown.

    Raises `config.invalid` as `require_votes` if the policy lets records vote themselves, and `data.missing`
    for records without a person.
    """
    persons = Persons.of(task, records)
    if policy.label_counts is not None or policy.randomized_labels:
        named = "label_counts" if policy.label_counts is not None else "randomized_labels"
        require_votes(persons, votes_per_person, f"{named} in [policy] has each record count")
    return persons


def protection(persons: Persons | None, records: int, *, exported: bool) -> str:
    """Return a sentence on what a vote of this party's teachers protects.

    For `exported` models, it is not known here whose records they learned from.
    """
    if persons is None:
        return (
            f"{records} records, each taken for a person of its own: name the column that tells persons apart"
            " as id in task.toml, else a person with several records changes as many votes."
        )
    if not persons.stated:
        return (
            f"{records} records of {persons}, and nobody says that each is a person: if so, write"
            " persons = true into task.toml; else a person with several ids changes as many votes."
        )
    if exported:
        return (
            f"{records} records of {persons}: that each person's went into one exported model is this party's"
            " word."
        )
    return f"{records} records of {persons}: each person's go to one teacher, so one person changes one vote."
