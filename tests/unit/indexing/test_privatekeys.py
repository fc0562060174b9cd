import base64
from pathlib import Path

import pytest

from braindex.indexing.privatekeys import holds_private_key

# Markers are put together here, so that this file is not taken for what it tests.
KIND = "PRIVATE " + "KEY"
BEGIN = f"-----BEGIN {KIND}-----"
FIRST = "MIIEvQIBADAN" + "BgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKjMzEfYyjiWA4R"
SECOND = "zEfYyjiWA4R4M2bS1GB4t7NXp98C" + "3SC6dVMvDuictGeurT8jNbvJZHtCSuYEvuNM"
PUTTY = "PuTTY-User-Key-File-3: ssh-ed25519\nPublic-Lines: 1\nAAAAC3Nz\nPrivate-" + "Lines: 1\nAAAAIEx7KJHG8sdf7sdfQ"
ARMOUR = f"{BEGIN}\n{FIRST}\n{SECOND}\n-----END {KIND}-----\n"


@pytest.mark.parametrize(
    "text",
    [
        f'KEY = "{BEGIN}" + System.lineSeparator() + "{SECOND}";',
        f'$k = "{BEGIN}".PHP_EOL."{SECOND}";',
        f"K = b'{BEGIN}' b'{SECOND}'",
        f'"{BEGIN}" +\n        Environment.NewLine +\n        "{SECOND}"',
        f'K = [\n  "{BEGIN}",\n  "{SECOND}",\n]',
        f"echo '{BEGIN}\\n{SECOND}\\n'",
        f'{{"a": "{{\\"key\\": \\"{BEGIN}\\\\n{SECOND}\\\\n\\"}}"}}',
        f"<key>{BEGIN}&#10;{SECOND}&#10;</key>",
        f"<pre>{BEGIN}<br>\n{SECOND}<br></pre>",
        f"x {BEGIN} {SECOND[:32]} {SECOND[32:64]}",
        f"{BEGIN}\u200b\n{SECOND}\n",
        BEGIN.replace(" ", "%20") + "%0A" + FIRST,
        f"-{BEGIN}\n-{SECOND}",
        f"+{BEGIN}\n+MIIEvQ\n",
        f"---- BEGIN SSH2 ENCRYPTED {KIND} ----\nComment: 'work'\n{SECOND}\n---- END SSH2 ENCRYPTED {KIND} ----",
        PUTTY,
        PUTTY.replace("\n", "\r\n"),
        '{"ppk": "' + PUTTY.replace("\n", "\\n") + '"}',
        "tls.key: " + base64.b64encode(ARMOUR.encode()).decode(),
        '{"data": "' + base64.b64encode(ARMOUR.replace(KIND, "RSA " + KIND).encode()).decode() + '"}',
        f"<PrivateKey>{FIRST}</PrivateKey>",
        f'private_key: "{FIRST}"',
        f"PRIVATE_KEY_BASE64 = '{FIRST}'",
        f"const der = '{FIRST}'",
        "b3BlbnNzaC1rZXkt" + "djEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtzc2gtZW",
        "AGE-SECRET-" + "KEY-1" + "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7LQPZRY9X8GF2TVDW0S3JN54KHCE",
        f"<RSAKeyValue><Modulus>{SECOND}</Modulus><D>{SECOND}</D></RSAKeyValue>",
    ],
)
def test_a_private_key_is_seen_through_what_it_is_wrapped_in(text):
    assert holds_private_key(text)
    assert holds_private_key(f"first line\n\n{text}\n")


@pytest.mark.parametrize(
    "text",
    [
        f'if "{BEGIN}" in text:\n    raise LooksLikeAKey(hashlib.sha256(text.encode()).hexdigest()[:16])\n',
        f'MARKER = "{BEGIN}"\nEND = "-----END {KIND}-----"\nDIGEST = "{SECOND}"\n',
        f'assert detect("{BEGIN}")\n\n\ndef loadPrivateKeyFromPem2StringOrFileInFolder9():\n    return None\n',
        f'pattern = "{BEGIN}"  # see docs/Security2/Keys/HowPrivateKeysAreFoundInFiles/Overview\n',
        f"A file that begins with `{BEGIN}` is left out.\n\n" + "More prose about it. " * 10 + f"\n{SECOND}\n",
        base64.b64encode(BEGIN.encode()).decode(),
        "cert: " + base64.b64encode(ARMOUR.replace(KIND, "CERTIFICATE").encode()).decode(),
        f"public_key: MIGf{SECOND}",
        f"<RSAKeyValue><Modulus>{SECOND}</Modulus><Exponent>AQAB</Exponent></RSAKeyValue>",
        'if "PuTTY-User-Key-File-" in text and "Private-Lines: " in text: return parse_putty_key_of_version_two(text)',
        "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABAQC7VJTUt9Us8cKjMzEfYyjiWA4R me@host",
        "integrity sha512-" + SECOND,
    ],
)
def test_a_text_that_only_speaks_of_keys_or_holds_other_base64_is_none(text):
    assert not holds_private_key(text)


def test_our_own_source_is_not_taken_for_a_key():
    files = sorted((Path(__file__).resolve().parents[3] / "src").rglob("*.py"))
    assert [path.name for path in [*files, Path(__file__)] if holds_private_key(path.read_text(encoding="utf-8"))] == []


def test_looking_for_keys_in_a_hostile_text_is_linear():
    for unit in (
        BEGIN,
        BEGIN + "\n",
        BEGIN + "A: b\n",
        "MIIE",
        "Private-Lines: 1 ",
        "LS0tLS1CRUdJTi",
        "\\",
        "private key ",
        "<D>",
    ):
        assert not holds_private_key(
            "PuTTY-User-Key-File-2 <RSAKeyValue> " + BEGIN + "!" * 200 + unit * (600_000 // len(unit)) + "!"
        )
