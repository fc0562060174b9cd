import pytest

from braindex.domain.secrets import REDACTED, redacted


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("my key is sk-abcdefghijklmnop1234, use it", "sk-abcdefghijklmnop1234"),
        ("export DB_PASSWORD=hunter", "hunter"),
        ("DEEPSEEK_API_KEY=abc", "abc"),
        ("'apiKey': 'abcd1234'", "abcd1234"),
        ("const dbPassword = 'letmein99'", "letmein99"),
        ("postgres://bob:s3cr3t@host/db", "s3cr3t"),
        ("Authorization: Bearer abcdef1234567890", "abcdef1234567890"),
        ("curl -H 'X-Api-Key: 0123456789ab'", "0123456789ab"),
        ("--token ghp_0123456789012345678901234567890123456", "ghp_"),
        ("AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "wJalrXUtnFEMI"),
        ("AKIAIOSFODNN7EXAMPLE is the id", "AKIAIOSFODNN7EXAMPLE"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.abc-def", "eyJzdWIiOiIxMjM0NTY3ODkwIn0"),
        ("-----BEGIN RSA PRIVATE KEY-----\nMIIEabc\nxyz\n-----END RSA PRIVATE KEY-----\nafter", "MIIEabc"),
        ("-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAA", "b3BlbnNzaC1rZXktdjEAAAAA"),
        ("secret_key: 'django-insecure-abc'", "django-insecure-abc"),
        ("xoxb-123456789012-abcdefABCDEF", "xoxb-123456789012"),
    ],
)
def test_a_secret_is_taken_out_of_a_text(text, secret):
    assert secret not in redacted(text)
    assert REDACTED in redacted(text)


@pytest.mark.parametrize(
    "text",
    [
        "the token expires after 5 minutes",
        "password: correct horse",
        "password = os.environ['DB_PASSWORD']",
        "def check_password(user, password=None): pass",
        "PASSWORD=$SECRET",
        "max_tokens: 700 tokens, token_count=12",
        "API_KEY=<your key>",
        "the basic idea of the secret santa is a cookie jar",
    ],
)
def test_words_about_secrets_stay(text):
    assert redacted(text) == text


def test_what_stands_around_a_secret_stays():
    assert redacted("before sk-abcdefghijklmnop1234 after") == f"before {REDACTED} after"
    key = "-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----"
    assert redacted(f"before\n{key}\nafter") == f"before\n{REDACTED}\nafter"


def test_redacting_twice_changes_nothing():
    text = "DB_PASSWORD=hunter2 and 'apiKey': 'abcd1234' and https://a:bcd@e/"
    assert redacted(redacted(text)) == redacted(text)
