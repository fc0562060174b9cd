import base64
import hashlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from braindex.domain.results import Skipped
from braindex.indexing.decode import SourceText, read_text
from braindex.indexing.privatekeys import holds_private_key
from braindex.indexing.walk import Found

BEGIN = "-----BEGIN {}PRIVATE KEY-----"
END = "-----END {}PRIVATE KEY-----"
KEY_LINES = [base64.b64encode(hashlib.sha384(bytes([n])).digest()).decode() for n in range(4)]
posix_only = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX files")


def read(
    folder: Path, content: bytes | str, name: str = "a.py", *, max_bytes: int = 1_000_000, kept: bool = False
) -> SourceText | Skipped:
    data = content if isinstance(content, bytes) else content.encode("utf-8")
    (folder / name).write_bytes(data)
    return read_text(folder, Found(name, len(data), 0, kept=kept), max_bytes)


def text_of(result: SourceText | Skipped) -> str:
    assert isinstance(result, SourceText), result
    return result.text


def reason_of(result: SourceText | Skipped) -> str:
    assert isinstance(result, Skipped), result
    return result.reason


def test_utf8_comes_back_as_it_is_with_the_digest_of_its_bytes(tmp_path):
    result = read(tmp_path, "naïve = '日本 🎉'\r\nx = 1\n")
    assert isinstance(result, SourceText)
    assert result.text == "naïve = '日本 🎉'\r\nx = 1\n"
    assert result.data == result.text.encode("utf-8")
    assert result.digest == hashlib.blake2b(result.data, digest_size=16).digest()
    assert result.encoding == "utf-8"


def test_mixed_line_ends_are_kept(tmp_path):
    assert text_of(read(tmp_path, b"a\r\nb\rc\nd")) == "a\r\nb\rc\nd"


def test_a_byte_order_mark_is_taken_off_the_text_but_not_out_of_the_digest(tmp_path):
    raw = b"\xef\xbb\xbfdef f(): pass\n"
    result = read(tmp_path, raw)
    assert isinstance(result, SourceText)
    assert result.text == "def f(): pass\n"
    assert result.data == b"def f(): pass\n"
    assert result.digest == hashlib.blake2b(raw, digest_size=16).digest()


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
def test_wide_encodings_are_read_by_their_mark(tmp_path, codec):
    result = read(tmp_path, "\ufeffx = 'ж'\r\n".encode(codec))
    assert isinstance(result, SourceText)
    assert (result.text, result.data, result.encoding) == ("x = 'ж'\r\n", "x = 'ж'\r\n".encode(), codec)


@pytest.mark.parametrize(
    ("name", "text", "codec"),
    [
        ("a.py", "# -*- coding: latin-1 -*-\nx = 'é'\n", "latin-1"),
        ("a.py", "#!/usr/bin/python\n# vim: set fileencoding=gbk :\nx = '中文'\n", "gbk"),
        ("a.html", "<html><head><meta charset='shift_jis'></head>日本</html>", "shift_jis"),
        ("a.html", '<meta http-equiv="Content-Type" content="text/html; charset=koi8-r">Привет', "koi8-r"),
        ("a.css", '@charset "gb2312";\n.a::before { content: "中" }\n', "gb2312"),
        ("a.xml", '<?xml version="1.0" encoding="ISO-8859-1"?><a>é</a>', "latin-1"),
    ],
)
def test_a_declared_encoding_is_obeyed(tmp_path, name, text, codec):
    result = read(tmp_path, text.encode(codec), name)
    assert text_of(result) == text
    assert isinstance(result, SourceText)
    assert result.data == text.encode("utf-8")


def test_latin1_on_the_web_means_windows_1252(tmp_path):
    page = "<meta charset=iso-8859-1><p>“quoted”</p>"
    assert text_of(read(tmp_path, page.encode("cp1252"), "a.html")) == page


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("x = 'é'".encode("latin-1"), "not UTF-8, and it declares no encoding"),
        ("中文注释".encode("gbk"), "not UTF-8, and it declares no encoding"),
        (
            "# coding: klingon\né".encode("latin-1"),
            "not UTF-8, and it declares an unknown encoding (klingon)",
        ),
        ("# coding: unicode_escape\né".encode("latin-1"), "not UTF-8, and it declares an unknown encoding"),
        ("# coding: hex\né".encode("latin-1"), "not UTF-8, and not valid hex as it declares"),
        (b"# coding: utf-8\n\xff", "not UTF-8, and not valid utf-8 as it declares"),
        (b"\xff\xfea\x00\x00\xd8", "not valid utf-16-le, as its byte order mark says"),
    ],
)
def test_what_cannot_be_decoded_for_certain_is_skipped(tmp_path, content, reason):
    assert reason_of(read(tmp_path, content)).startswith(reason)


@pytest.mark.parametrize(
    "content", [b"def f():\n    return '\0'\n", "x\0".encode("utf-16"), "plain".encode("utf-16-le")]
)
def test_a_file_with_nul_bytes_is_skipped_with_a_reason(tmp_path, content):
    assert "binary" in reason_of(read(tmp_path, content))


def test_a_file_that_grew_past_the_limit_is_skipped(tmp_path):
    assert "limit is 10" in reason_of(read(tmp_path, "x" * 11, max_bytes=10))
    assert text_of(read(tmp_path, "x" * 10, max_bytes=10)) == "x" * 10


def test_a_kept_file_may_be_larger_than_the_limit(tmp_path):
    assert text_of(read(tmp_path, "x" * 11, max_bytes=10, kept=True)) == "x" * 11


def test_a_file_that_vanished_is_skipped(tmp_path):
    assert reason_of(read_text(tmp_path, Found("gone.py", 1, 0), 100)) == "vanished during the scan"


def test_an_empty_file_is_empty_text(tmp_path):
    assert text_of(read(tmp_path, b"")) == ""


@posix_only
def test_a_file_that_became_a_link_is_not_followed(tmp_path):
    (tmp_path / "outside.txt").write_text("secret")
    root = tmp_path / "root"
    root.mkdir()
    (root / "a.py").symlink_to(tmp_path / "outside.txt")
    assert isinstance(read_text(root, Found("a.py", 6, 0), 100), Skipped)


@posix_only
def test_a_folder_that_became_a_link_is_not_followed(tmp_path):
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "a.py").write_text("secret")
    root = tmp_path / "root"
    root.mkdir()
    (root / "pkg").symlink_to(tmp_path / "outside", target_is_directory=True)
    assert isinstance(read_text(root, Found("pkg/a.py", 6, 0), 100), Skipped)


@posix_only
def test_a_file_that_became_a_fifo_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "a.py")
    assert reason_of(read_text(tmp_path, Found("a.py", 1, 0), 100)) == "not a regular file"


@posix_only
def test_a_file_that_became_a_folder_is_skipped(tmp_path):
    (tmp_path / "a.py").mkdir()
    assert reason_of(read_text(tmp_path, Found("a.py", 1, 0), 100)) == "not a regular file"


@posix_only
def test_a_file_is_opened_under_the_name_the_disk_has(tmp_path):
    (tmp_path / "re\u0301sume\u0301.py").write_text("x = 1")
    found = Found("r\u00e9sum\u00e9.py", 5, 0, real="re\u0301sume\u0301.py")
    assert text_of(read_text(tmp_path, found, 100)) == "x = 1"


def key(kind: str = "", join: str = "\n", lines: Sequence[str] = KEY_LINES) -> str:
    return join.join([BEGIN.format(kind), *lines, END.format(kind)])


@pytest.mark.parametrize(
    "text",
    [
        "My notes.\n\n" + key("RSA ") + "\nmore",
        key("OPENSSH ", "\r\n"),
        key("EC ", lines=["Proc-Type: 4,ENCRYPTED", "DEK-Info: AES-128-CBC,0123ABCD", "", *KEY_LINES]),
        key("PGP ", lines=["Version: GnuPG v2", "", *KEY_LINES]).replace("KEY--", "KEY BLOCK--"),
        '{"private_key": "' + key(join="\\n") + '"}',
        'KEY = (\n    "' + key(join='\\n"\n    "') + '"\n)',
        "tls:\n  key: |\n    " + key(join="\n    "),
        "> " + key(join="\n> "),
        "# " + key(join="\n# "),
        key(lines=["MIIEowIBAAKCAQEA7"]),
        key("RSA ", lines=["MIIEow..."]),
        BEGIN.format("") + "\n" + KEY_LINES[0],
    ],
)
def test_a_text_with_a_private_key_in_it_is_never_indexed(tmp_path, text):
    assert reason_of(read(tmp_path, text, "notes.txt", kept=True)) == "never indexed: holds a private key"


@pytest.mark.parametrize(
    "text",
    [
        f'MARKER = "{BEGIN.format("RSA ")}"\n',
        f'if text.startswith("{BEGIN.format("")}"): return load_private_key_from_text_with_password(text)\n',
        r'PATTERN = re.compile(r"-----BEGIN (RSA |EC )?PRIVATE KEY-----[\s\S]+?-----END")' + "\n",
        f"MARKERS = [\n    '{BEGIN.format('RSA ')}',\n    '{BEGIN.format('EC ')}',\n]\n",
        f"{BEGIN.format('RSA ')}\n{BEGIN.format('EC ')}\n",
        f"The file begins with\n\n{BEGIN.format('')}\n...\n{END.format('')}\n",
        f"{BEGIN.format('')}\n<your key here>\n{END.format('')}\n",
        f"`{BEGIN.format('')}`\nlibrary/crypto/src/main/resources/templates/keys/private\n",
        "-----BEGIN PUBLIC KEY-----\n" + "\n".join(KEY_LINES) + "\n-----END PUBLIC KEY-----\n",
        "-----BEGIN CERTIFICATE-----\n" + "\n".join(KEY_LINES) + "\n-----END CERTIFICATE-----\n# no PRIVATE KEY\n",
    ],
)
def test_a_text_that_only_speaks_of_private_keys_is_indexed(tmp_path, text):
    assert text_of(read(tmp_path, text, "scanner.py")) == text


def test_looking_for_keys_in_a_hostile_text_is_linear():
    assert not holds_private_key(BEGIN.format("") + "\n" + " \t" * 200_000 + "!")
    assert not holds_private_key((BEGIN.format("") + "\nA: b\n" * 20) * 2_000)
    assert not holds_private_key("-----BEGIN " + "A " * 200_000 + "PRIVATE KEY")


MINIFIED = "!function(e,t){var n=e.a,r=t.b;return n(r),function(){return n&&r||e(t)}}(this,window);" * 200


@pytest.mark.parametrize("name", ["bundle.js", "bundle.mjs", "style.css"])
def test_a_bundle_of_very_long_lines_is_skipped_as_minified(tmp_path, name):
    assert "minified" in reason_of(read(tmp_path, MINIFIED, name))


def test_a_minified_bundle_that_was_asked_for_is_read(tmp_path):
    assert text_of(read(tmp_path, MINIFIED, "bundle.js", kept=True)) == MINIFIED


def test_seven_thousand_functions_on_one_line_are_not_a_bundle(tmp_path):
    text = "".join(f"function f{n}(a) {{ return a; }} " for n in range(7_000))
    assert text_of(read(tmp_path, text, "a.js")) == text


def test_a_long_line_of_another_language_is_read(tmp_path):
    assert text_of(read(tmp_path, MINIFIED, "data.txt")) == MINIFIED
