"""Runs the code cells of a notebook in order, as Jupyter does, and prints what each shows: printed text, and the last
expression as HTML where it has that form. For tests/notebook.rs.

usage: notebook.py NOTEBOOK
"""

import ast
import contextlib
import io
import json
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    cells = [cell for cell in json.load(file)["cells"] if cell["cell_type"] == "code"]

names, shown = {"__name__": "__main__"}, []
for number, cell in enumerate(cells):
    tree = ast.parse("".join(cell["source"]), filename=f"cell {number + 1}")
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed, html = io.StringIO(), ""
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, f"cell {number + 1}", "exec"), names)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), f"cell {number + 1}", "eval"), names)
            html = value._repr_html_() if hasattr(value, "_repr_html_") else ""
    shown.append({"text": printed.getvalue(), "html": html})
json.dump(shown, sys.stdout)
