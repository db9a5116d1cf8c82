"""Fits Extra-P's default models and evaluates them: JSON in on standard input, JSON out on standard output.

In: {"parameters": [name], "series": [{"points": [[coordinate]], "values": [[repetition]], "at": [[coordinate]]}]}.
Out: [[value at each of "at"]], null where Extra-P has no model.
"""

import json
import sys

from extrap.entities.callpath import Callpath
from extrap.entities.coordinate import Coordinate
from extrap.entities.experiment import Experiment
from extrap.entities.measurement import Measurement
from extrap.entities.metric import Metric
from extrap.entities.parameter import Parameter
from extrap.modelers.model_generator import ModelGenerator


def predictions(parameters, series):
    """One series is one experiment, since Extra-P asks for the same points everywhere."""
    experiment = Experiment()
    for name in parameters:
        experiment.add_parameter(Parameter(name))
    callpath, metric = Callpath("path"), Metric("metric")
    experiment.add_callpath(callpath)
    experiment.add_metric(metric)
    for point, values in zip(series["points"], series["values"]):
        coordinate = Coordinate(*point)
        experiment.add_coordinate(coordinate)
        experiment.add_measurement(Measurement(coordinate, callpath, metric, values))
    generator = ModelGenerator(experiment)
    generator.model_all()
    function = generator.models[callpath, metric].hypothesis.function
    # A function of one parameter is evaluated at a number.
    return [float(function.evaluate(at if len(at) > 1 else at[0])) for at in series["at"]]


def main():
    given = json.load(sys.stdin)
    results = []
    for series in given["series"]:
        try:
            results.append(predictions(given["parameters"], series))
        except Exception as error:  # Whatever Extra-P raises, it has no model.
            print(f"no model: {error!r}", file=sys.stderr)
            results.append([None] * len(series["at"]))
    json.dump(results, sys.stdout)


main()
