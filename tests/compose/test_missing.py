import pytest

from tests.compose.project import Project

pytestmark = [pytest.mark.compose, pytest.mark.timeout(900)]

CASES = [
    ("alpha", "rm site.toml", "config.invalid", "site.toml"),
    ("alpha", "rm tls.key", "config.invalid", "tls.key"),
    # Its metrics' address is that of the hospital which is up.
    ("alpha", "sed -i /^metrics/d site.toml && rm -r teachers", "model", "teachers"),
    ("guardian", "rm signing.key", "config.invalid", "signing.key"),
    ("guardian", "rm database.url", "config.invalid", "database.url"),
    ("guardian", "sed -i s/:[^:@]*@/:wrong@/ database.url", "ledger.unreachable", "database"),
    ("delta", "rm ca.crt", "config.invalid", "ca.crt"),
]
COMMANDS = {
    "alpha": "party serve",
    "guardian": "guardian serve",
    "delta": "query label --again --mechanism gnmax:sigma=9 --pool pool.npz --out /tmp/run",
}


@pytest.mark.parametrize(("service", "harm", "code", "named"), CASES)
def test_what_is_missing_is_said_in_one_sentence(
    project: Project, service: str, harm: str, code: str, named: str
) -> None:
    serve = f"exec ostraka {COMMANDS[service]} --site /tmp/site"
    script = f"cp -r /site /tmp/site && cd /tmp/site && {harm} && {serve}"
    ended = project.one_off(service, "-ec", script, entrypoint="sh")
    said = [line for line in ended.err.splitlines() if line.startswith("error [")]
    assert ended.status == 2, ended.err
    assert len(said) == 1
    assert said[0].startswith(f"error [{code}")
    assert named in said[0]
    assert "Traceback" not in ended.err


def test_setup_without_its_volumes_says_so(project: Project) -> None:
    ended = project.one_off("setup", "-m", "ostraka.deploy.compose.setup", "/opt", entrypoint="python")
    assert ended.status == 2
    assert "No volume is mounted at /opt/ca" in ended.err
