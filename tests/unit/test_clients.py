"""How clients reach Kafka: security is passed through, credentials come from the mounted Secret and stay there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from spillway.model import kafka
from spillway.runtime.clients import Access, CredentialsError

SERVERS = ("kafka-0:9093", "kafka-1:9093")


def _kafka(**security: object) -> kafka.Kafka:
    given = {"bootstrapServers": list(SERVERS)} | ({"security": security} if security else {})
    return kafka.Kafka.model_validate_json(json.dumps(given))


def test_without_security_there_is_nothing_but_addresses_and_a_name() -> None:
    found = Access(_kafka(), name="ads.ysb").settings()

    assert found["bootstrap.servers"] == "kafka-0:9093,kafka-1:9093"
    assert found["client.id"] == "ads.ysb"
    assert not [name for name in found if name.startswith(("sasl", "ssl", "security"))]


def test_user_and_password_come_from_the_secret_without_the_newline_of_an_editor(tmp_path: Path) -> None:
    (tmp_path / "username").write_text("ads\n")
    (tmp_path / "password").write_text("s3cret\r\n")
    security = {"protocol": "SASL_SSL", "mechanism": "SCRAM-SHA-512", "secretRef": {"name": "kafka-user"}}
    found = Access(_kafka(**security), tmp_path).settings()

    assert found["security.protocol"] == "SASL_SSL"
    assert found["sasl.mechanism"] == "SCRAM-SHA-512"
    assert (found["sasl.username"], found["sasl.password"]) == ("ads", "s3cret")
    assert "ssl.ca.location" not in found


def test_certificates_are_named_and_not_read(tmp_path: Path) -> None:
    (tmp_path / "ca.crt").write_text("certificate")
    found = Access(_kafka(protocol="SSL", secretRef={"name": "tls"}), tmp_path).settings()

    assert found["ssl.ca.location"] == str(tmp_path / "ca.crt")
    assert "ssl.key.location" not in found


def test_a_key_that_is_missing_is_named_with_its_secret(tmp_path: Path) -> None:
    (tmp_path / "username").write_text("ads")
    security = {"protocol": "SASL_PLAINTEXT", "mechanism": "PLAIN", "secretRef": {"name": "kafka-user"}}

    with pytest.raises(CredentialsError, match="Secret 'kafka-user' has no readable key 'password'"):
        Access(_kafka(**security), tmp_path).settings()
    with pytest.raises(CredentialsError, match="Secret 'kafka-user' is not mounted"):
        Access(_kafka(**security)).settings()


def test_a_password_is_in_no_representation(tmp_path: Path) -> None:
    (tmp_path / "password").write_text("s3cret")
    access = Access(_kafka(protocol="SSL"), tmp_path)

    assert "s3cret" not in repr(access)
