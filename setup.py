"""Names the packages, which pyproject.toml cannot: the folders that lie here are imported from `ostraka`."""

from setuptools import find_namespace_packages, setup

API = "ostraka"
FOLDERS = ("client", "common", "deploy", "guardian", "protos", "services")

setup(
    package_dir={API: API, **{f"{API}.{folder}": folder for folder in FOLDERS}},
    packages=[API]
    + [
        f"{API}.{package}"
        for package in find_namespace_packages(include=[*FOLDERS, *(f"{folder}.*" for folder in FOLDERS)])
    ],
)
