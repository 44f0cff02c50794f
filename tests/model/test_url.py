"""What is shown of a URL."""

import pytest

from podherd.model.url import without_secrets


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://host:80/pods", "http://host:80/pods"),
        ("https://me:secret@host/pods?token=secret&x=1#secret", "https://host/pods?…"),
        ("https://secret@[::1]:8443/p", "https://[::1]:8443/p"),
        ("http://[secret", "…"),
    ],
)
def test_a_shown_url_leads_there_and_opens_nothing(url: str, shown: str) -> None:
    assert without_secrets(url) == shown
