import pytest

from braindex.indexing.exclusions import by_content, by_default, never


@pytest.mark.parametrize(
    "name",
    [
        *"""
        .env .env.local .env.production .env-prod prod.env config.env prod.env.bak .envrc server.pem tls.key id_rsa
        id_ed25519 store.p12 store.pfx app.jks debug.keystore vault.kdbx .netrc .pgpass .npmrc .pypirc credentials
        credentials.json my-service-account.json serviceaccountkey.json .git-credentials .htpasswd terraform.tfstate
        client_secret_42.json secrets.yaml .git env.prod env.local .flaskenv .dockerconfigjson .dev.vars
        terraform.tfvars prod.auto.tfvars prod.tfvars.json local.settings.json id_rsa_work id_ed25519-github
        deploy_rsa .env~ #.env# .#.env .env.swp .env.swo .prod.env.swp .id_rsa.swp id_rsa.bak id_rsa~
        credentials.json.old .netrc.save .pgpass.1 .env_copy .env.copy
        """.split(),
        ".env 2",
        ".env copy",
        ".env copy 2",
        "prod copy.env",
        "credentials (1).json",
        "client_secret_42 (2).json",
        "secrets copy.yaml",
        "id_rsa copy",
        ".env.local 2",
        ".env.prod - copy",
    ],
)
def test_a_file_that_may_hold_secrets_is_never_indexed(name):
    assert never(name, is_folder=False)


@pytest.mark.parametrize(
    "name",
    [
        *"""
        .env.example .env.sample .env.template .env.local.example example.env environment.ts .environment
        vite-env.d.ts env.py dotenv.md keys.py id_rsa.pub credentials.py secrets.py monkey.py package.json
        .gitignore tokenizer.json keyboard.js .env.dist example.tfvars terraform.tfvars.example env.ts env.js
        env.d.ts test_rsa.py rsa.py copy.py my_copy.js envelope.txt wp-config-sample.php variables.tf auth.json
        settings.json id_rsa_work.pub lib_rsa.c #notes.txt# notes.txt~
        """.split(),
        "notes copy.md",
        "chapter 2.md",
        "report (1).txt",
    ],
)
def test_a_file_with_a_harmless_name_is_not_taken_for_a_secret(name):
    assert never(name, is_folder=False) is None


@pytest.mark.parametrize("name", [".git", ".brain", ".ssh", ".gnupg", ".aws"])
def test_folders_of_tools_and_keys_are_never_indexed(name):
    assert never(name, is_folder=True)


def test_a_folder_is_not_judged_by_the_names_of_secret_files():
    assert never(".env", is_folder=True) is None
    assert never("credentials", is_folder=True) is None


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("package-lock.json", "lock file"),
        ("uv.lock", "lock file"),
        ("go.sum", "lock file"),
        ("favicon.ico", "binary (.ico)"),
        ("model.pkl", "binary (.pkl)"),
        ("jquery.min.js", "minified bundle"),
        ("app-min.css", "minified bundle"),
        ("app.js.map", "source map"),
        ("mcp.json.before-braindex", "a backup that `braindex setup` made"),
        (".mcp.json.x1y2.braindex-part", "a backup that `braindex setup` made"),
        (".ds_store", "a file manager's data"),
    ],
)
def test_a_file_that_answers_nothing_is_left_out_by_default(name, what):
    assert by_default(name, is_folder=False) == f"left out by default: {what}"


@pytest.mark.parametrize("name", ["data.csv", "app.js", "png", "lock", "minjs.js", "roadmap", "site.map", "logo.svg"])
def test_other_text_is_kept(name):
    assert by_default(name, is_folder=False) is None


@pytest.mark.parametrize("name", ["node_modules", "__pycache__", ".tox", ".mypy_cache", "bower_components", ".hg"])
def test_caches_and_installed_packages_are_left_out_by_default(name):
    assert by_default(name, is_folder=True)


@pytest.mark.parametrize(
    "name", ["build", "dist", "out", "target", "bin", "vendor", "env", "venv", ".github", ".vscode"]
)
def test_a_folder_is_not_left_out_for_a_name_that_projects_use_for_source(name):
    assert by_default(name, is_folder=True) is None


def test_a_virtual_environment_is_known_by_what_it_holds():
    assert by_content({"pyvenv.cfg", "bin"}, repositories=True) == "left out by default: virtual environment"
    assert by_content({"conda-meta"}, repositories=True) == "left out by default: virtual environment"
    assert by_content({"bin", "lib"}, repositories=True) is None


def test_a_repository_below_counts_only_under_a_root_that_is_in_one():
    assert by_content({".git"}, repositories=True) == "left out by default: a repository or worktree of its own"
    assert by_content({".git"}, repositories=False) is None
