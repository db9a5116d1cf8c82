"""What hatchet says of the database beside this file, as rows of reference.tsv.

    pip install llnl-hatchet==2026.2.0
    python reference.py > reference.tsv

Hatchet adds the ranks up, and knows what MPI itself calls, which we leave to the operation.
"""

import os

import hatchet

FOLDER = "ping-pong.p2"


def name(frame):
    """A function or loop as we name it; None for lines."""
    text = frame["name"]
    if frame["type"] == "function":
        text = text.removeprefix("function: ")
        return text.removeprefix("P") if text.startswith("PMPI_") else text
    if frame["type"] == "loop":
        return "loop at " + os.path.basename(text.removeprefix("loop "))
    return "main thread" if frame["type"] == "entry" else None


def operations(node, inclusive, path, found):
    """Adds up the inclusive time of each MPI operation that is entered from outside MPI."""
    own = name(node.frame)
    path = path + [own] if own else path
    if own and own.startswith("MPI_"):
        found["->".join(path)] = found.get("->".join(path), 0.0) + float(inclusive[node])
        return
    for child in node.children:
        operations(child, inclusive, path, found)


graph = hatchet.GraphFrame.from_hpctoolkit_latest(os.path.join(os.path.dirname(os.path.abspath(__file__)), FOLDER))
seconds = {}
for root in graph.graph.roots:
    operations(root, graph.dataframe["time (inc)"], [], seconds)
for path, value in sorted(seconds.items()):
    print(FOLDER, path, "time", "sum", repr(value), sep="\t")
