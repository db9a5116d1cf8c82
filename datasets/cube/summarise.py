"""Writes summary.tsv: what pycubexr (PyPI, 2.0) reads from the profiles here. Per file, call path and metric the number of
locations and the mean, minimum and maximum over them, of exclusive values. Structured types are left out, which pycubexr
does not turn into numbers.

    pip install pycubexr && python3 summarise.py > summary.tsv
"""

import glob
import warnings

import numpy
from pycubexr import CubexParser
from pycubexr.utils.exceptions import MissingMetricError, UnsupportedMetricFormatError


def callpaths(profile):
    paths = {}

    def walk(node, prefix):
        paths[node.id] = prefix + node.region.name
        for callee in node.get_children():
            walk(callee, paths[node.id] + "->")

    for root in profile.get_root_cnodes():
        walk(root, "")
    return paths


def values(profile, metric):
    """Values over locations by call path; nodes of one path add up."""
    paths, sums = callpaths(profile), {}
    try:
        stored = profile.get_metric_values(metric, cache=False, allow_full_uint64_values=True)
        for node in stored.cnode_indices:
            own = stored.cnode_values(profile.get_cnode(node), convert_to_exclusive=True).astype(float)
            path = paths[node]
            sums[path] = sums[path] + own if path in sums else own
    except (MissingMetricError, UnsupportedMetricFormatError, NotImplementedError, TypeError):
        return {}
    return sums


warnings.simplefilter("ignore")
print("file", "callpath", "metric", "locations", "mean", "minimum", "maximum", sep="\t")
for name in sorted(glob.glob("**/*.cubex", recursive=True)):
    with CubexParser(name) as profile:
        for metric in profile.all_metrics():
            if metric.data_type.split("(")[0] in ("COMPLEX", "NDOUBLES"):
                continue
            for path, own in values(profile, metric).items():
                own = own[numpy.isfinite(own)]
                if len(own) > 0:
                    numbers = [repr(float(x)) for x in (own.mean(), own.min(), own.max())]
                    print(name, path, metric.name, len(own), *numbers, sep="\t")
