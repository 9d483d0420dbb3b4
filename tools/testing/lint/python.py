# SPDX-License-Identifier: GPL-2.0
"""Reads file names from stdin; prints what does not compile, imports that
nothing uses, and lines over 100 columns."""

import ast
import sys


def unused_imports(tree):
    imported = {}
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            for alias in node.names:
                name = (alias.asname or alias.name).split(".")[0]
                imported[name] = node.lineno
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            used.update(ast.literal_eval(node.value))
    return [(line, name) for name, line in imported.items() if name not in used]


def main():
    for path in sys.stdin.read().split("\n"):
        if not path:
            continue
        with open(path, encoding="utf-8") as file:
            text = file.read()
        try:
            tree = ast.parse(text, path)
        except SyntaxError as error:
            print(f"{path}:{error.lineno}: {error.msg}")
            continue
        for line, name in unused_imports(tree):
            print(f"{path}:{line}: {name} is imported but not used")
        for number, line in enumerate(text.splitlines(), 1):
            if len(line) > 100:
                print(f"{path}:{number}: {len(line)} columns")


main()
