# Fits the JSON Lines on standard input with Extra-P's default modeler. Prints the processor's seconds this took, then
# for each call path, in the order of their first lines, the value at the point of the arguments and the leading
# exponents there over the terms of at least 1 %.
import sys
import tempfile
import time
from fractions import Fraction

from extrap.fileio.file_reader.jsonlines_file_reader import read_jsonlines_file
from extrap.modelers.model_generator import ModelGenerator

at = [float(a) for a in sys.argv[1:]]
with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
    file.write(sys.stdin.read())
    file.flush()
    experiment = read_jsonlines_file(file.name)
generator = ModelGenerator(experiment)
start = time.process_time()
generator.model_all()
print(time.process_time() - start)


def exponents(term):
    """Exponents of the polynomials of a term, by parameter."""
    powers = [Fraction(0)] * len(at)
    # A term of an experiment with one parameter is what is paired with it in others.
    for parameter, single in getattr(term, "parameter_term_pairs", [(0, term)]):
        for simple in single.simple_terms:
            if simple.term_type == "polynomial":
                powers[parameter] += Fraction(simple.exponent).limit_denominator(100)
    return powers


for callpath in experiment.callpaths:
    function = generator.models[(callpath, experiment.metrics[0])].hypothesis.function
    terms = [(float(function.constant_coefficient), [Fraction(0)] * len(at))]
    for term in function.compound_terms:
        terms.append((float(term.evaluate(at if len(at) > 1 else at[0])), exponents(term)))
    value = sum(v for v, _ in terms)
    matter = [e for v, e in terms if abs(v) >= 0.01 * abs(value)]
    print(value, *(max((e[l] for e in matter), default=Fraction(0)) for l in range(len(at))))
