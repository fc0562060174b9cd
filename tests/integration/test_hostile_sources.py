"""Files that break parsers, all in one project: the scan lives, says what it left out, and indexes the rest."""

from tests.conftest import ask, names, scanned

BRACES = "function deep() {" + "{\n" * 16_384 + "}\n" * 16_384 + "}\nfunction after_braces() {}\n"
TEMPLATES = "const t = " + "`${\n" * 2_000 + "1" + "}`\n" * 2_000 + "\nfunction after_templates() {}\n"
PAGE = "<div>" * 1_500 + "<h1 id='buried'>Buried</h1>" + "</div>" * 1_500
LOCK = "".join(f"package-{number}@1.0.0:\n  resolved: x\n" for number in range(12_000))
ONE_LINE = "var data=[" + "1," * 2_250_000 + "1]"
MANY = ";".join(f" function made_{number}() {{ return {number} }} " for number in range(7_000))
DOC = "---\ntitle: Guide\n---\n\nSetext title\n============\n\n```sh\n# not a heading\n```\n"
TWINS = "if fast:\n    def run(): return 1\nelse:\n    def run(): return 2\n\n\nclass Van:\n    @property\n    def load(self): return 1\n    @load.setter\n    def load(self, value): pass\n"
PROJECT = {
    "braces.js": BRACES,
    "templates.js": TEMPLATES,
    "page.html": PAGE,
    "yarn.lock": LOCK,
    "data.js": ONE_LINE,
    "many.js": MANY,
    "guide.md": DOC,
    "twins.py": TWINS,
    "nul.py": b"def hidden():\n    return '\0'\n",
    "plain.py": "def weigh():\n    return 1\n",
}


def test_every_hostile_file_costs_at_most_itself(app, make_project):
    workspace = scanned(app, make_project(PROJECT))
    status = app.status.of(workspace)
    left_out = {one.path: one.reason for one in status.skipped}
    assert status.complete
    assert set(left_out) == {"data.js", "nul.py", "yarn.lock"}
    assert all(left_out.values())
    assert names(ask(app, workspace, "where is weigh defined", limit=1)) == ["weigh"]
    for name in ("after_braces", "after_templates", "made_6999"):
        assert names(ask(app, workspace, f"where is {name} defined", limit=1)) == [name]
    assert status.kinds["function"] > 7_000
    assert status.kinds["heading"] == 2  # the title and the element: a comment in a fence is none
    twins = [one for one in ask(app, workspace, "run", path="twins.py", kind="function").sources if one.name == "run"]
    assert [one.line for one in twins] == [2, 4]
    assert len({one.id for one in twins}) == 2
