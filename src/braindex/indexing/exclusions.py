"""What is left out whatever the ignore files say, and what is left out unless .memignore brings it back.

Every function takes names in lower case: on two of three platforms `ID_RSA` is the same file as `id_rsa`.
"""

import re
from collections.abc import Container
from typing import Final

# Cache Directory Tagging Specification, bford.info/cachedir: the first 43 bytes of a CACHEDIR.TAG file.
CACHE_TAG: Final = "cachedir.tag"
CACHE_TAG_SIGNATURE: Final = b"Signature: 8a477f597d28d172789f06886806bc55"

_OWN_FOLDERS: Final = {
    ".git": "git's own data",
    ".brain": "braindex's own data",
    ".ssh": "may hold secrets",
    ".gnupg": "may hold secrets",
    ".aws": "may hold secrets",
    ".azure": "may hold secrets",
    ".kube": "may hold secrets",
}


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_SECRET_NAMES: Final = _words(
    """
    id_rsa id_dsa id_ecdsa id_ecdsa_sk id_ed25519 id_ed25519_sk id_xmss .netrc _netrc .pgpass pgpass.conf
    .my.cnf .mylogin.cnf .npmrc .pypirc .htpasswd .git-credentials .dockercfg .envrc .s3cfg .boto .vault-token
    .terraformrc terraform.rc credentials credentials.json credentials.yml credentials.yaml credentials.toml
    credentials.ini credentials.csv credentials.txt credentials.xml secrets.json secrets.yml secrets.yaml
    secrets.toml secrets.ini secrets.txt .secrets client_secret.json client_secrets.json kubeconfig
    application_default_credentials.json accesskeys.csv .flaskenv .dev.vars .dockerconfigjson local.settings.json
    wp-config.php .htdigest rclone.conf .rclone.conf .vault_pass .vault_password .vault-pass vault_pass.txt
    """
)
_SECRET_ENDINGS: Final = (
    ".pem", ".key", ".p12", ".pfx", ".p8", ".ppk", ".jks", ".jceks", ".keystore", ".bks", ".kdb", ".kdbx",
    ".pkcs12", ".keychain", ".keychain-db", ".keytab", ".tfstate", ".tfstate.backup", ".ovpn", ".agekey",
    ".secret", ".secrets", ".pk8", ".jwk",
)  # fmt: skip
# `.env`, `.env.local`, `.env-prod`, `prod.env`, `env.prod`; not `.environment`, not `vite-env.d.ts`, not `env.py`.
_STAGE: Final = r"(?:local|dev|development|test|stag\w*|prod\w*|live)"
_ENV_FILE: Final = re.compile(rf"\.env(?:[.\-_~].*)?|.+\.env(?:\.(?:{_STAGE}|json|ya?ml|toml))?|env\.{_STAGE}")
_VARIABLES: Final = (".tfvars", ".tfvars.json")  # Terraform's values: passwords as often as not
# `.env.example`, `example.env`, `.env.prod.template`: written to be shared.
_SAMPLE: Final = re.compile(r"(?:.*[.\-_])?(?:example|sample|template|dist)(?:\.env|\.tfvars|\.tfvars\.json)?")
# `id_rsa_work`, `deploy_rsa`; the public half has a suffix.
_SSH_KEY: Final = re.compile(r"id_(?:rsa|dsa|ecdsa|ed25519|xmss)[_-][^.]*+|[^.]+[_-](?:rsa|dsa|ecdsa|ed25519)")
# What editors, file managers and people put around a name when they copy a file: `.env~`, `#.env#`, `.env.swp`,
# `id_rsa.bak`, `.env copy 2`, `credentials (1).json`.
_BACKUP_MARK: Final = re.compile(r"\A\.?#|(?:[~#]|\.(?:sw[a-p]|bak\d?|backup|old|orig|save|tmp|copy|\d{1,8}))++\Z")
_COPY_MARK: Final = re.compile(r"(?:[ _-]{1,3}copy(?: ?\d{1,4}| ?\(\d{1,4}\))?| ?\(\d{1,4}\)| \d{1,4})(?=\.|\Z)")
_SERVICE_ACCOUNT: Final = re.compile(
    r"(?:.*[-_.])?(?:service[-_]?account|firebase[-_]?adminsdk|gcp[-_]?key|client[-_]?secret)"
    r"(?:key|credentials?)?(?:[-_.].*)?\.json"
)

_CACHE_FOLDERS: Final = {
    "node_modules": "installed packages",
    "bower_components": "installed packages",
    "jspm_packages": "installed packages",
    "site-packages": "installed packages",
    "__pycache__": "cache",
    "__pypackages__": "installed packages",
    ".tox": "test environments",
    ".nox": "test environments",
    ".eggs": "installed packages",
    **dict.fromkeys(
        _words("""
        .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .pytype .pyre
        .ipynb_checkpoints .cache .gradle .terraform .terragrunt-cache .next .nuxt .svelte-kit .parcel-cache
        .turbo .angular .sass-cache .dart_tool .nyc_output .vite .webpack .yarn .pnpm-store .npm .vs
        .ccls-cache .clangd
        """),
        "cache",
    ),
    **dict.fromkeys((".hg", ".svn", ".bzr", ".jj", ".pijul", "_darcs", "cvs"), "another version control's data"),
}
_LOCK_FILES: Final = _words(
    """
    package-lock.json npm-shrinkwrap.json yarn.lock pnpm-lock.yaml bun.lock bun.lockb deno.lock poetry.lock
    uv.lock pdm.lock pixi.lock pipfile.lock conda-lock.yml cargo.lock composer.lock gemfile.lock go.sum
    go.work.sum mix.lock pubspec.lock podfile.lock cartfile.resolved package.resolved packages.lock.json
    paket.lock flake.lock gradle.lockfile .terraform.lock.hcl stack.yaml.lock cabal.project.freeze shard.lock
    pylock.toml
    """
)
_BINARY_SUFFIXES: Final = _words(
    """
    png jpg jpeg jpe gif bmp tif tiff webp avif heic heif ico icns cur psd xcf svgz mp3 mp4 m4a m4v aac ogg
    oga ogv opus wav flac mov avi mkv webm wmv flv mid midi zip gz tgz bz2 tbz xz txz zst lz lz4 br 7z rar tar
    jar war ear whl egg gem nupkg crate deb rpm apk aab ipa dmg iso vhd vmdk msi cab pkg exe dll so dylib a o
    ko elf pdb class pyc pyo pyd beam wasm rlib rmeta pch gch pdf doc docx xls xlsx xlsm ppt pptx odt ods odp
    epub mobi djvu ttf otf woff woff2 eot ttc fon db sqlite sqlite3 db3 mdb accdb dbf ibd rdb pkl pickle npy
    npz h5 hdf5 parquet feather arrow orc avro rds rdata onnx pt pth safetensors ckpt tflite gguf joblib
    msgpack blend fbx glb stl 3ds dwg swf fla unitypackage uasset mo gmo gpg
    """
)
_FILE_NAMES: Final = {
    ".ds_store": "a file manager's data",
    "thumbs.db": "a file manager's data",
    "desktop.ini": "a file manager's data",
}
_MINIFIED: Final = re.compile(r".*[.\-]min\.(?:js|mjs|cjs|css)")
_SOURCE_MAP: Final = re.compile(r".*\.(?:js|mjs|cjs|css|ts|mts|cts|jsx|tsx)\.map")


def never(name: str, *, is_folder: bool) -> str | None:
    """Why no rule can bring this in: the tools' own data, and what may hold secrets."""
    if is_folder:
        what = _OWN_FOLDERS.get(name)
        return what and f"never indexed: {what}"
    if name == ".git":
        return "never indexed: git's own data"
    return "never indexed: may hold secrets" if _is_secret(name) else None


def _is_secret(name: str) -> bool:
    if _names_a_secret(name):
        return True
    original = _COPY_MARK.sub("", _BACKUP_MARK.sub("", name))
    # Vim's swap file of a name without a dot begins with one.
    return original != name and (_names_a_secret(original) or _names_a_secret(original.removeprefix(".")))


def _names_a_secret(name: str) -> bool:
    if name in _SECRET_NAMES or name.endswith(_SECRET_ENDINGS):
        return True
    if name.endswith(_VARIABLES) or ("env" in name and _ENV_FILE.fullmatch(name)):
        return _SAMPLE.fullmatch(name) is None
    if _SSH_KEY.fullmatch(name):
        return True
    return name.endswith(".json") and _SERVICE_ACCOUNT.fullmatch(name) is not None


def by_default(name: str, *, is_folder: bool) -> str | None:
    """Why this is left out by its name unless .memignore brings it back."""
    what = _CACHE_FOLDERS.get(name) if is_folder else _default_file(name)
    return what and left_out(what)


def _default_file(name: str) -> str | None:
    suffix = name.rpartition(".")[2]
    if suffix in _BINARY_SUFFIXES and suffix != name:
        return f"binary (.{suffix})"
    if name in _LOCK_FILES:
        return "lock file"
    if _MINIFIED.fullmatch(name):
        return "minified bundle"
    if suffix == "map" and _SOURCE_MAP.fullmatch(name):
        return "source map"
    if suffix in {"before-braindex", "braindex-part"}:  # of a client's file, whose entries may hold keys
        return "a backup that `braindex setup` made"
    return _FILE_NAMES.get(name)


def by_content(names: Container[str], *, repositories: bool) -> str | None:
    """Why a folder with these entries (in lower case) is left out unless .memignore brings it back.

    `repositories` is whether a repository of its own counts: it belongs to a root that is in none itself.
    """
    if "pyvenv.cfg" in names or "conda-meta" in names:
        return left_out("virtual environment")
    if repositories and ".git" in names:
        return left_out("a repository or worktree of its own")
    return None


def left_out(what: str) -> str:
    return f"left out by default: {what}"
