"""Opens an .extra-p archive with Extra-P itself and prints what it finds there as JSON, for tests/extra_p.rs.

Arguments: the archive, then points such as 64,5000. With --write FILE instead of points the archive is made by Extra-P
from the Extra-P text or JSON Lines file FILE, repetitions and models of its default modeler included.
"""

import json
import sys

from extrap.fileio.experiment_io import read_experiment, write_experiment
from extrap.fileio.file_reader.json_file_reader import JsonFileReader
from extrap.fileio.file_reader.text_file_reader import TextFileReader
from extrap.modelers.model_generator import ModelGenerator


def describe(archive, points):
    experiment = read_experiment(archive)
    measurements = [
        {
            "callpath": callpath.name,
            "metric": metric.name,
            "points": [list(m.coordinate.as_tuple()) for m in of_series],
            "values": [[float(m.mean)] if m.values is None else m.values.tolist() for m in of_series],
            "statistics": [[float(x) for x in (m.median, m.mean, m.minimum, m.maximum, m.std)] for m in of_series],
        }
        for (callpath, metric), of_series in experiment.measurements.items()
    ]
    models = [
        {
            "modeler": modeler.name,
            "callpath": callpath.name,
            "metric": metric.name,
            "function": model.hypothesis.function.to_string(*experiment.parameters),
            "at": [float(model.hypothesis.function.evaluate(point)) for point in points],
            "smape": float(model.hypothesis.SMAPE),
            "rss": float(model.hypothesis.RSS),
        }
        for modeler in experiment.modelers
        for (callpath, metric), model in modeler.models.items()
    ]

    def tree(node):
        return {child.name: tree(child) for child in node}

    return {
        "parameters": [p.name for p in experiment.parameters],
        "call_tree": tree(experiment.call_tree),
        "measurements": measurements,
        "models": models,
    }


def write(archive, source):
    reader = JsonFileReader() if source.endswith("jsonl") else TextFileReader()
    reader.keep_values = True
    experiment = reader.read_experiment(source)
    ModelGenerator(experiment, name="Default").model_all()
    write_experiment(experiment, archive)


if sys.argv[2] == "--write":
    write(sys.argv[1], sys.argv[3])
else:
    print(json.dumps(describe(sys.argv[1], [tuple(map(float, a.split(","))) for a in sys.argv[2:]])))
