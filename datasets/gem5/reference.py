"""What a reader of its own says of the statistics beside this file, as rows of reference.tsv: python reference.py > reference.tsv

With two dumps, counts (whole numbers, but for rates, clocks, sizes and what is never reset) and the simulated seconds are the sums
over both; the simulator's own numbers of instructions and operations, which these versions do not reset, are those of the last; everything
else is left out.
"""

import math

NEVER = ("final_tick", "sim_freq", "host_mem_usage", "clk_domain.clock")


def dumps(file):
    found, inside = [], False
    for line in open(file):
        if "Begin Simulation Statistics" in line:
            found.append({})
            inside = True
        elif "End Simulation Statistics" in line:
            inside = False
        elif inside:
            fields = line.split("#")[0].split()
            try:
                value = float(fields[1])
            except (IndexError, ValueError):
                continue
            if math.isfinite(value):
                is_rate = line.rstrip().endswith("/s)")
                found[-1][fields[0]] = (fields[1], value, is_rate)
    return found


def place(name):
    """Call path and metric: what stands before and behind the last dot outside a vector's part."""
    if name == "sim_seconds":
        return "<root>", "time"
    dot = name.split("::")[0].rfind(".")
    return ("<root>", name) if dot < 0 else (name[:dot].replace(".", "->"), name[dot + 1 :])


for file in ["hello-sparc.p1.txt", "mcf-x.p1.txt", "netperf-alpha.p1.txt"]:
    parts = dumps(file)
    for name in sorted({name for part in parts for name in part}):
        texts = [part[name] for part in parts if name in part]
        text, _, is_rate = texts[-1]
        is_count = text.isdigit() and not is_rate and not name.endswith(NEVER) or name == "sim_seconds"
        if name in ("sim_insts", "sim_ops"):
            print(file, *place(name), repr(parts[-1][name][1]), sep="\t")
        elif len(parts) == 1 or is_count:
            print(file, *place(name), repr(sum(value for _, value, _ in texts)), sep="\t")
