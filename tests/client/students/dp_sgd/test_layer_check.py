import pytest

from ostraka.client.students.dp_sgd.private_training import check_layers
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.learning.networks import network
from tests.client.students.dp_sgd import networks

SHAPE, CLASSES = (6,), 3


@pytest.mark.parametrize("name", ["grouped", pytest.param("scaled", marks=pytest.mark.heavy)])
def test_layers_that_treat_each_record_by_itself_are_trained(name: str) -> None:
    net = getattr(networks, name)(SHAPE, CLASSES)
    before = {key: value.clone() for key, value in net.state_dict().items()}
    check_layers(net, 6)
    assert all(value.equal(before[key]) for key, value in net.state_dict().items())
    assert not any(hasattr(p, "grad_sample") for p in net.parameters())


@pytest.mark.parametrize("kind", ["mlp", "cnn"])
def test_built_in_networks_normalise_over_the_batch_and_are_refused(kind: str) -> None:
    with pytest.raises(OstrakaError, match=r"its layer [\d.]+ is a BatchNorm") as refused:
        check_layers(network((8, 8), CLASSES, kind), 64)
    assert refused.value.code is ErrorCode.MODEL_INVALID


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("normalised", "its layer 1 is a BatchNorm1d"),
        ("normalised_without_weights", "its layer 1 is a BatchNorm1d"),
        pytest.param("scaled_by_chance", "finds no gradients .*random", marks=pytest.mark.heavy),
        ("centred", "gradient of its 1.weight is of several records"),
        ("remembering", "its 0.last keeps something of the records"),
        ("idle", "idle.weight has no part"),
        ("frozen", "no weights to train"),
    ],
)
def test_what_mixes_or_keeps_records_is_named(name: str, told: str) -> None:
    with pytest.raises(OstrakaError, match=told) as refused:
        check_layers(getattr(networks, name)(SHAPE, CLASSES), 6)
    assert refused.value.code is ErrorCode.MODEL_INVALID
