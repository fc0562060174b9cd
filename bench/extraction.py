"""Are the entities what each language's own parser sees? Python against `ast`, TypeScript and JavaScript against `tsc`.

usage: python bench/extraction.py python [FOLDER …] [--json FILE]
       python bench/extraction.py typescript FOLDER … --typescript FOLDER [--json FILE]
       python bench/extraction.py throughput FOLDER …
       python bench/extraction.py edits FOLDER …

python      every function, method and class, wherever it stands: found, missed, invented; its last line, parent,
            decorators, docstring, return type, parameters, and its signature by what it means (names, kinds, defaults,
            annotations, base classes). By default over the running interpreter's standard library and packages.
typescript  declarations, functions and classes bound to names, members, accessors, interfaces, types, enums and
            namespaces in .js, .jsx, .ts and .tsx files, by the TypeScript compiler (`npm install --prefix FOLDER
            typescript`; it is not a part of braindex). Needs node.

throughput  lines and entities a CPU second, with references and passages, as a scan makes them.
edits       how many functions and types are still found when one bracket or quote of their file is left out.

Prints shares and examples of what differs; exit code 1 when recall or precision is below .97 or lines or
parents are below .99, or when nothing was compared.
"""

import argparse
import json
import sys
from pathlib import Path

import extraction_edits  # type: ignore[import-not-found]  # beside this file
import extraction_python  # type: ignore[import-not-found]
import extraction_speed  # type: ignore[import-not-found]
import extraction_typescript  # type: ignore[import-not-found]
from extraction_score import Score  # type: ignore[import-not-found]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["python", "typescript", "throughput", "edits"])
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--typescript", type=Path, help="where npm installed the TypeScript compiler")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    if arguments.what == "throughput":
        for folder in arguments.folders:
            print(extraction_speed.measure(folder.resolve()).line(), flush=True)
        return
    if arguments.what == "edits":
        for line in extraction_edits.measure([folder.resolve() for folder in arguments.folders]):
            print(line, flush=True)
        return
    if arguments.what == "python":
        scores = [Score("python")]
        extraction_python.measure(arguments.folders or extraction_python.default_folders(), scores[0])
    else:
        if not arguments.folders or arguments.typescript is None:
            parser.error("typescript needs folders, and --typescript FOLDER")
        scores = extraction_typescript.measure(arguments.folders, arguments.typescript)
    for score in scores:
        print("\n".join(score.lines()))
    for score in scores:
        print("\n".join(score.examples_lines()))
    if arguments.json:
        arguments.json.write_text(json.dumps([one.as_json() for one in scores], indent=1), encoding="utf-8")
    sys.exit(not (scores and all(one.passes for one in scores)))


if __name__ == "__main__":
    main()
