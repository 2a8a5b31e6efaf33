"""Who sees a GPU in containers: no image by itself, and of the example the parties alone, one each."""

import re
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]


def test_no_image_sees_a_gpu_by_itself() -> None:
    text = (ROOT / "ostraka/deploy/Dockerfile").read_text()
    assert re.findall(r"NVIDIA_VISIBLE_DEVICES=(\w+)", text) == ["void"]


def test_every_hospital_of_the_example_is_given_one_that_may_be_its_own() -> None:
    over = yaml.safe_load((ROOT / "ostraka/deploy/compose.gpu.yml").read_text())["services"]
    below = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
    assert over.keys() <= below.keys()
    named = []
    for service in over.values():
        assert service["build"]["args"] == {"DEVICE": "cuda"}
        (device,) = service["deploy"]["resources"]["reservations"]["devices"]
        named += device["device_ids"]
    assert sorted(named) == ["${ALPHA_GPU:-0}", "${BETA_GPU:-0}", "${GAMMA_GPU:-0}"]
