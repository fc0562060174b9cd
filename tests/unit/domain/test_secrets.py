import pytest
from hypothesis import given
from hypothesis import strategies as st

from braindex.domain.secrets import REDACTED, redacted, redacted_lines, redacted_source


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
        ("const apiKey =\n        'Zt9kQ2'", "Zt9kQ2"),
        ('password = (\n    "hunter2"\n)', "hunter2"),
        ('signing_key = "Zt9kQ2 and so on, cut', "Zt9kQ2"),
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


@pytest.mark.parametrize(
    ("line", "secret"),
    [
        ('API_KEY = "sk-abcdefghijklmnop1234"', "sk-abcdefghijklmnop1234"),
        ('password = "swordfish"', "swordfish"),
        ('client.login("bob", password="hunter2")', "hunter2"),
        ("db.password=hunter2secret", "hunter2secret"),
        ("token: a1b2c3d4e5f6", "a1b2c3d4e5f6"),
        ("  Authorization: Bearer abcdefgh12345678", "abcdefgh12345678"),
        ("run --token 0123456789ab now", "0123456789ab"),
        ("url = 'postgres://bob:s3cr3t@host/db'", "s3cr3t"),
        ("ENV DB_PASSWORD=hunter", "hunter"),
    ],
)
def test_a_secret_is_taken_out_of_source(line, secret):
    (left,) = redacted_lines([line])
    assert secret not in left
    assert REDACTED in left


@pytest.mark.parametrize(
    "line",
    [
        "token = parse_token(request.headers)",
        "secret = user.api_token",
        "token = sha256_of(text)",
        'token_type = "bearer"',
        "grant: { token: 'refresh_token' }",
        "We pass `dispatch` to it",
        "HTTP Basic Authentication",
        "var cookie = require('cookie');",
        "f(token=token_of_user, password=stored_password)",
        'url = f"https://host/?token={token}"',
    ],
)
def test_names_and_calls_of_source_stay(line):
    assert redacted_source(line) == line


def test_lines_stay_where_they_are_when_a_key_of_several_is_taken_out():
    lines = ['KEY = """', "-----BEGIN PRIVATE KEY-----", "MIIEabc", "-----END PRIVATE KEY-----", '"""', "def sign():"]
    assert redacted_lines(lines) == ['KEY = """', REDACTED, "", "", '"""', "def sign():"]


_PIECES = st.sampled_from(
    ["password", "token", " = ", ": ", "=", '"', "'", "hunter2", "abcdefgh1", "sk-abcdefghijklmnop1234", " ", "Bearer ",
     "cookie", "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", "https://a:b@c", "(", "", "KEY=", "x"]
)  # fmt: skip


@given(st.lists(st.lists(_PIECES, max_size=5).map("".join), max_size=8))
def test_redacted_lines_are_as_many_as_before(lines):
    assert len(redacted_lines(lines)) == len(lines)
