"""What hatchet and Caliper's own reader for Python say of the files beside this one, as rows of reference.tsv.

    pip install llnl-hatchet==2026.2.0 caliper-reader==0.4.1
    python reference.py > reference.tsv
    pip install llnl-hatchet==2023.1.1
    python reference.py json-split >> reference.tsv

Versions of hatchet from 2024 on refuse json-split without the column "Node order", whence the older one.
"""

import sys

import warnings

warnings.filterwarnings("ignore")

import caliperreader
import hatchet

SECONDS = 1e-6


def tau(folder, ranks):
    """Exclusive seconds and calls of each call path over ranks; a rank without the call path counts as zero."""
    frame = hatchet.GraphFrame.from_tau(folder)
    found = {}
    for (node, rank), row in frame.dataframe.iterrows():
        path = "->".join(n.frame["name"].removesuffix("()").strip() for n in node.path())
        for metric, column, unit in [("time", "time", SECONDS), ("visits", "Calls", 1)]:
            found.setdefault((path, metric), {})[rank] = unit * float(row[column])
    for (path, metric), by_rank in sorted(found.items()):
        values = [by_rank.get(rank, 0.0) for rank in range(ranks)]
        for over, value in [("mean", sum(values) / ranks), ("maximum", max(values)), ("sum", sum(values))]:
            print(folder, path, metric, over, repr(value), sep="\t")


def caliper(file, metrics):
    """Metrics of each region; of inclusive ones that have a sum the value less those of the callees."""
    reader = caliperreader.CaliperReader()
    reader.read(file)
    found = {}
    for record in reader.records:
        path = record.get("path")
        if path:
            path = (path,) if isinstance(path, str) else tuple(path)
            for column, metric in metrics.items():
                if column in record:
                    key = (path, metric)
                    found[key] = found.get(key, 0.0) + float(record[column])
    inclusive = {metric for column, metric in metrics.items() if "inclusive" in column and not column.startswith(("min#", "max#"))}
    for (path, metric), value in sorted(found.items()):
        if metric in inclusive:
            value -= sum(v for (p, m), v in found.items() if m == metric and p[:-1] == path)
        print(file, "->".join(path), *metric, repr(value), sep="\t")


def json_split(file, ranks, metrics):
    """Exclusive values of each call path over ranks; a rank without the call path counts as zero."""
    frame = hatchet.GraphFrame.from_caliper(file)
    # This version does not tell nodes their parents.
    paths, rest = {}, [(root, []) for root in frame.graph.roots]
    while rest:
        node, above = rest.pop()
        # Lines and modules below a function have no name; what is there counts for the function.
        names = above + [node.frame.get("name")] if node.frame.get("name") else above
        paths[id(node)] = "->".join(names)
        rest.extend((child, names) for child in node.children)
    found = {}
    for (node, rank), row in frame.dataframe.iterrows():
        path = paths[id(node)]
        for column, (metric, unit) in metrics.items():
            # Call paths with one name are one.
            by_rank = found.setdefault((path, metric), {})
            value = float(row[column])
            by_rank[rank] = by_rank.get(rank, 0.0) + (0.0 if value != value else unit * value)
    for (path, metric), by_rank in sorted(found.items()):
        values = [by_rank.get(rank, 0.0) for rank in range(ranks)]
        if any(values):
            for over, value in [("mean", sum(values) / ranks), ("maximum", max(values)), ("minimum", min(values)), ("sum", sum(values))]:
                print(file, path, metric, over, repr(value), sep="\t")


if __name__ == "__main__" and sys.argv[1:] == ["json-split"]:
    json_split("cpi-callpath.p4.json", 4, {"time": ("time", SECONDS), "count": ("visits", 1)})
    json_split("annotation.p8.json", 8, {"time": ("time", SECONDS)})
    json_split("regions.p1.json", 1, {"time": ("time", 1)})
elif __name__ == "__main__":
    tau("cpi.p4", 4)
    spot = {"avg#inclusive#sum#time.duration": ("time", "mean"), "sum#inclusive#sum#time.duration": ("time", "sum")}
    caliper("lulesh.p1.cali", {**spot, "min#inclusive#sum#time.duration": ("min_time", "")})
    caliper("spot.p64.cali", spot)
    caliper(
        "annotation.p8.cali",
        {"sum#time.duration": ("time", ""), "avg#time.duration": ("avg_time", ""), "count": ("visits", "")},
    )
