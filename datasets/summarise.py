#!/usr/bin/env python3
"""Summarises the data sets of this folder into summary.tsv files, as an oracle for the readers' tests.

It parses each format in the shortest way that works for these very files and checks nothing. Run it in this folder.
"""
import csv
import json
import math
import re
import zipfile
from collections import defaultdict


def text(path):
    points, rows, region, metric, index = [], [], "", "", 0
    for line in open(path):
        key, _, rest = line.strip().partition(" ")
        rest = rest.strip()
        if key == "POINTS":
            points += [tuple(map(float, p.split())) for p in re.findall(r"\(([^)]*)\)", rest)]
        elif key in ("REGION", "METRIC"):
            region, metric = (rest, metric) if key == "REGION" else (region, rest)
            index = 0
        elif key == "DATA":
            rows += [(region, metric, points[index], float(v)) for v in rest.split()]
            index += 1
    return rows


def lines(path, parameters="params"):
    for line in open(path):
        if line.strip():
            d = json.loads(line.replace(";", ",") if parameters == "parameters" else line)
            values = d["value"] if isinstance(d["value"], list) else [d["value"]]
            for value in values:
                yield d.get("callpath", "<root>"), d.get("metric", "<default>"), tuple(d[parameters].values()), value


def numbered(path):
    d = json.load(open(path))
    names = {k: {e["id"]: e["name"] for e in d[k]} for k in ("callpaths", "metrics")}
    point = {c["id"]: tuple(v for _, v in sorted((p["parameter_id"], p["parameter_value"]) for p in c["parameter_value_pairs"]))
             for c in d["coordinates"]}
    for m in d["measurements"]:
        yield names["callpaths"][m["callpath_id"]], names["metrics"][m["metric_id"]], point[m["coordinate_id"]], m["value"]


def nested(d):
    for callpath, metrics in d["measurements"].items():
        for metric, points in metrics.items():
            for p in points:
                values = p.get("values") or [p["mean"]]
                yield from ((callpath, metric, tuple(p.get("point") or p["coordinate"]), v) for v in values)


FILES = {
    "relearn2p": {"relearn_data.txt": text},
    "mpi_collectives": {"mpi_collectives.jsonl": lines},
    "ls1_mardyn": {"ls1.jsonl": lines},
    "extrap_formats": {
        "two_parameters.txt": text,
        "call_tree.txt": text,
        "numbered.json": numbered,
        "nested.json": lambda p: nested(json.load(open(p))),
        "talpas.txt": lambda p: lines(p, "parameters"),
        "statistics.extra-p": lambda p: nested(json.loads(zipfile.ZipFile(p).read("experiment.json"))),
    },
}

for folder, files in FILES.items():
    with open(f"{folder}/summary.tsv", "w", newline="") as out:
        table = csv.writer(out, delimiter="\t", lineterminator="\n")
        table.writerow(["file", "callpath", "metric", "points", "values", "sum", "minimum", "maximum"])
        for file, read in files.items():
            series = defaultdict(list)
            for callpath, metric, point, value in read(f"{folder}/{file}"):
                series[callpath, metric].append((point, value))
            for (callpath, metric), rows in sorted(series.items()):
                values = [v for _, v in rows]
                table.writerow([file, callpath, metric, len({p for p, _ in rows}), len(values),
                                math.fsum(values), min(values), max(values)])
