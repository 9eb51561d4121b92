"""History servers: credentials and TLS."""

import shutil
import subprocess
from pathlib import Path

import pytest
from faulty_server import Faulty, listed, send, serving, zipped
from history_servers import SECRET, TEXT, Handler

from engine.errors import BadInput, ServiceUnavailable
from engine.sources import read
from engine.sources.access.http_client import Client
from engine.sources.access.http_connections import Access

pytestmark = pytest.mark.usefixtures("no_access_settings")


# Credentials


@pytest.mark.parametrize(
    ("environment", "sent"),
    [
        ({"TOKEN": SECRET}, f"Bearer {SECRET}"),
        ({"USER": "anna", "PASSWORD": "pä:ss"}, "Basic YW5uYTpww6Q6c3M="),
        ({}, None),
    ],
)
def test_credentials_come_from_the_environment(
    faulty: Faulty, environment: dict[str, str], sent: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(f"SPARKPLAN_HISTORY_{name}", value)
    read(faulty.url + "#app=app-1")
    assert set(faulty.authorizations) == {sent}


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        ({"TOKEN": "a\nHost: evil"}, "SPARKPLAN_HISTORY_TOKEN: is not a token"),
        ({"TOKEN": "hunter2 ü"}, "SPARKPLAN_HISTORY_TOKEN: is not a token"),
        ({"TOKEN": "hunter2", "USER": "anna"}, "both are set"),
        ({"PASSWORD": "hunter2"}, "without a user"),
        ({"USER": "hunter2:x"}, "SPARKPLAN_HISTORY_USER"),
        ({"CA": "/nowhere/hunter.pem"}, "SPARKPLAN_HISTORY_CA: no such file"),
        ({"TIMEOUT": "soon"}, "SPARKPLAN_HISTORY_TIMEOUT"),
        ({"TIMEOUT": "-1"}, "SPARKPLAN_HISTORY_TIMEOUT"),
    ],
)
def test_an_environment_that_cannot_be_meant(environment: dict[str, str], said: str) -> None:
    named = {f"SPARKPLAN_HISTORY_{name}": value for name, value in environment.items()}
    with pytest.raises(BadInput, match=said) as caught:
        Access.from_environment(named)
    assert "hunter2" not in str(caught.value)


def test_credentials_are_not_in_the_representation_of_anything() -> None:
    access = Access.from_environment({"SPARKPLAN_HISTORY_TOKEN": SECRET})
    assert SECRET not in repr(access)
    assert SECRET not in repr(Client("http://h", access).__dict__)


@pytest.mark.parametrize(
    ("status", "sent", "asks", "said"),
    [
        (401, False, "Basic realm=x", "asks for credentials .401.; set SPARKPLAN_HISTORY_TOKEN"),
        (401, True, "Bearer", "does not accept the credentials .401.; check"),
        (403, True, "", "does not allow this user"),
        (401, True, "Negotiate", "Kerberos"),
    ],
)
def test_a_wrong_key_is_the_users_and_never_shown(
    faulty: Faulty, status: int, sent: bool, asks: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if sent:
        monkeypatch.setenv("SPARKPLAN_HISTORY_TOKEN", SECRET)

    def refuse(handler: Handler, path: str) -> bool:
        body = f"bad {handler.headers.get('Authorization')}".encode()
        send(handler, body, "text/plain", status=status, **{"WWW_Authenticate": asks})
        return True

    faulty.fault = refuse
    with pytest.raises(BadInput, match=said) as caught:
        read(faulty.url + "#app=etl")
    assert caught.value.exit_code == 2
    assert SECRET not in str(caught.value)
    assert len(faulty.asked) == 1


# TLS


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Certificates for 127.0.0.1 and for another host, made here."""
    if shutil.which("openssl") is None:
        pytest.skip("no openssl to make certificates with")
    folder = tmp_path_factory.mktemp("tls")
    for name, host in (("right", "IP:127.0.0.1"), ("other", "DNS:elsewhere.example")):
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
             "-nodes", "-days", "2", "-subj", f"/CN={name}", "-addext", f"subjectAltName={host}",
             "-keyout", folder / f"{name}.key", "-out", folder / f"{name}.pem"],
            check=True, capture_output=True,
        )  # fmt: skip
        both = (folder / f"{name}.key").read_bytes() + (folder / f"{name}.pem").read_bytes()
        (folder / f"{name}.both").write_bytes(both)
    return folder


def secured(certificates: Path, name: str = "right"):
    held = Faulty([listed("app-1", "etl")], {"app-1/logs": zipped({"app-1": TEXT})})
    return serving(held, certificates / f"{name}.both")


@pytest.mark.parametrize("variable", ["SPARKPLAN_HISTORY_CA", "SSL_CERT_FILE"])
def test_an_own_authority_is_trusted_when_named(
    certificates: Path, variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, str(certificates / "right.pem"))
    with secured(certificates) as server:
        assert len(read(server.url).runs) == 1


def test_a_certificate_that_nobody_signed(certificates: Path) -> None:
    with (
        secured(certificates) as server,
        pytest.raises(ServiceUnavailable, match=r"certificate is not trusted.*HISTORY_CA"),
    ):
        read(server.url)


def test_a_certificate_of_another_host(certificates: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARKPLAN_HISTORY_CA", str(certificates / "other.pem"))
    with (
        secured(certificates, "other") as server,
        pytest.raises(ServiceUnavailable, match="certificate is not trusted"),
    ):
        read(server.url)
    assert server.asked == []


def test_an_authority_file_without_certificates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ca").write_text("none")
    monkeypatch.setenv("SPARKPLAN_HISTORY_CA", str(tmp_path / "ca"))
    with pytest.raises(BadInput, match="PEM"):
        read("https://127.0.0.1:1")


def test_tls_asked_of_a_plain_server(faulty: Faulty) -> None:
    with pytest.raises(ServiceUnavailable, match="no TLS"):
        read(faulty.url.replace("http:", "https:"))
