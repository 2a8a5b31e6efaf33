"""Names the packages, which pyproject.toml cannot: the folders that lie here are imported from `ostraka`."""

from setuptools import find_namespace_packages, setup

FOLDERS = ("client", "common", "deploy", "guardian", "protos", "services")

setup(
    packages=[
        f"ostraka.{package}"
        for package in find_namespace_packages(include=[*FOLDERS, *(f"{folder}.*" for folder in FOLDERS)])
    ]
)
