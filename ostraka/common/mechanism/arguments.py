"""Mechanisms from the parameters that a command line gives."""

from collections.abc import Mapping

from ostraka.common.mechanism import Check, Mechanism, invalid_plan, known_mechanism, labelling
from ostraka.common.validation import did_you_mean

OPTIONS = {"epsilon": "rand-epsilon"}
"""Parameters that a command line names otherwise, because budgets have an epsilon too."""
CHECK = {"sigma1": "sigma", "threshold": "threshold"}
"""The parameters of a check that a mechanism may have, by the options that give them."""


def make_mechanism(kind: str, **parameters: float | None) -> Mechanism:
    """Make the mechanism of this name with these parameters, in votes; None stands for one not given.

    A check that a mechanism may have takes `sigma1` and `threshold`. Raises `plan.invalid` for an unknown
    name, and for a missing or a needless parameter.
    """
    known, choices = known_mechanism(kind), labelling()
    if known is None or not known.labels_queries:
        raise invalid_plan(
            f"there is no mechanism {kind} that labels queries{did_you_mean(kind, choices)}; for --mechanism "
            f"choose one of {', '.join(choices)}"
        )
    given = {name: value for name, value in parameters.items() if value is not None}
    needed, optional = _parameters(known)
    takes = f"mechanism {kind} takes {', '.join([*needed, *(f'[{name}]' for name in optional)])}"
    for name in needed:
        if name not in given:
            raise invalid_plan(f"{takes}; give {option_name(name)}")
    for name in given:
        if name not in (*needed, *optional):
            raise invalid_plan(f"{takes}; leave out {option_name(name)}")
    fields = known.model_fields
    values: dict[str, object] = {name: value for name, value in given.items() if name in fields}
    if "check" in fields and CHECK.keys() & given.keys():
        values["check"] = _check(given)
    return known.model_validate(values)


def arguments_of(mechanism: Mechanism) -> dict[str, float | None]:
    """Return the parameters of which `make_mechanism` makes this mechanism."""
    values = mechanism.model_dump(exclude={"kind", "check"})
    check = getattr(mechanism, "check", None)
    if isinstance(check, Check):
        values |= {name: getattr(check, field) for name, field in CHECK.items()}
    return values


def _check(given: Mapping[str, float]) -> Check:
    for name in CHECK:
        if name not in given:
            raise invalid_plan(f"a check takes {' and '.join(CHECK)}; give {option_name(name)} as well")
    return Check.model_validate({field: given[name] for name, field in CHECK.items()})


def _parameters(known: type[Mechanism]) -> tuple[list[str], list[str]]:
    """Names of the parameters that a mechanism needs, and of those that it may have."""
    fields = {name: field for name, field in known.model_fields.items() if name != "kind"}
    needed = [name for name, field in fields.items() if field.is_required()]
    optional = [name for name in fields if name not in needed and name != "check"]
    return needed, [*optional, *(CHECK if "check" in fields else ())]


def option_name(name: str) -> str:
    """Return the option that gives a parameter on a command line."""
    return f"--{OPTIONS.get(name, name.replace('_', '-'))}"
