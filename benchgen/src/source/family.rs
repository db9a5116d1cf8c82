//! C++ and C: the same functions, which the two languages spell a little differently.

use super::exchange::{self, Argument, Call, Peer, Received, Receiver, Step, Values};
use super::{Language, accumulates, buffer_sizes, head, line, most};
use crate::complexity::{Factor, Term};
use crate::operation::{ByRank, Element, MpiOperation, Operation};
use crate::spec::{Arrangement, Function, Kernel, Message, Spec};

/// How a language spells what both have.
#[derive(Clone, Copy)]
pub struct Dialect {
    language: Language,
    /// Before names of the standard library.
    std: &'static str,
    /// Before names of the support code.
    bench: &'static str,
    /// Between `parameters` and a member.
    member: &'static str,
    /// The type of the argument of benchmark functions.
    parameters: &'static str,
    linkage: &'static str,
    support: &'static str,
    main: &'static str,
}

/// C++17.
pub const CPP: Dialect = Dialect {
    language: Language::Cpp,
    std: "std::",
    bench: "bench::",
    member: ".",
    parameters: "const Parameters&",
    linkage: "extern \"C\" ",
    support: include_str!("support.cpp.in"),
    main: include_str!("main.cpp.in"),
};

/// C11.
pub const C: Dialect = Dialect {
    language: Language::C,
    std: "",
    bench: "bench_",
    member: "->",
    parameters: "const Parameters*",
    linkage: "",
    support: include_str!("support.c.in"),
    main: include_str!("main.c.in"),
};

/// The program of `spec`.
pub fn program(spec: &Spec, dialect: Dialect) -> String {
    let mut out = String::new();
    head(spec, dialect.language).iter().for_each(|text| line!(out, "// {text}"));
    line!(out, "");
    out.push_str(&support(spec, dialect));
    let mut writer = Writer { dialect, out };
    spec.functions.iter().for_each(|function| writer.benchmark(function));
    writer.main_function(spec);
    writer.out
}

fn support(spec: &Spec, dialect: Dialect) -> String {
    let initial = if dialect.language == Language::Cpp { " = 0.0" } else { "" };
    let members: Vec<String> = spec.parameter_names().map(|name| format!("    double {name}{initial};")).collect();
    dialect
        .support
        .replace("@PARAMETERS@", &members.join("\n"))
        .replace("@ARRAYS@", &most(spec, |f| f.with_arrays().count()).to_string())
        .replace("@MESSAGES@", &most(spec, |f| f.messages.len()).to_string())
}

impl Dialect {
    fn parameter(self, name: &str) -> String {
        format!("parameters{}{name}", self.member)
    }

    fn cast(self, to: &str, value: &str) -> String {
        match self.language {
            Language::Cpp => format!("static_cast<{to}>({value})"),
            _ => format!("({to})({value})"),
        }
    }

    fn int64(self) -> String {
        format!("{}int64_t", self.std)
    }

    fn element(self, element: Element) -> String {
        match element {
            Element::Int => format!("{}int32_t", self.std),
            _ => element.name().to_owned(),
        }
    }

    /// The support code's function of that name for a type of elements.
    fn typed(self, name: &str, element: Element) -> String {
        match self.language {
            Language::Cpp => format!("bench::{name}<{}>", self.element(element)),
            _ => format!("bench_{name}_{}", element.name()),
        }
    }

    /// A term as an expression of type double, multiplied in the order in which [`Term::at`] multiplies.
    fn expression(self, term: &Term) -> String {
        let mut parts: Vec<String> = term.factors.iter().flat_map(|f| self.factors(f)).collect();
        if term.coefficient != 1.0 || parts.is_empty() {
            // Debug output of a double is the shortest that reads back as the same, and a literal of type double.
            parts.insert(0, format!("{:?}", term.coefficient));
        }
        parts.join(" * ")
    }

    fn factors(self, factor: &Factor) -> Vec<String> {
        let x = self.parameter(&factor.parameter);
        let (numer, denom) = (*factor.exponent.numer(), *factor.exponent.denom());
        let power = match (numer, denom) {
            (0, _) => None,
            (1, 1) => Some(x.clone()),
            _ => Some(format!("{}pow({x}, {numer}.0 / {denom}.0)", self.std)),
        };
        let logarithms = (0..factor.log_exponent).map(|_| format!("{}log2({x})", self.std));
        power.into_iter().chain(logarithms).collect()
    }

    /// The rounded value of a term.
    fn rounded(self, term: &Term) -> String {
        format!("{}rounded({})", self.bench, self.expression(term))
    }
}

const fn datatype(element: Element) -> &'static str {
    match element {
        Element::Int => "MPI_INT32_T",
        Element::Float => "MPI_FLOAT",
        Element::Double => "MPI_DOUBLE",
    }
}

struct Writer {
    dialect: Dialect,
    out: String,
}

impl Writer {
    /// One benchmark function: its kernels, then its messages.
    fn benchmark(&mut self, function: &Function) {
        let (name, d) = (&function.name, self.dialect);
        line!(self.out, "{}BENCH_FUNCTION void {name}({} parameters);\n", d.linkage, d.parameters);
        line!(self.out, "void {name}({} parameters) {{", d.parameters);
        let body = self.out.len();
        if function.with_arrays().next().is_some() {
            line!(self.out, "    const {} mask = {};", d.int64(), d.parameter("mask"));
        }
        match function.arrangement {
            Arrangement::Sequential => (0..function.kernels.len()).for_each(|i| self.kernels(function, i..i + 1)),
            Arrangement::Nested => self.kernels(function, 0..function.kernels.len()),
        }
        (0..function.messages.len()).for_each(|i| self.message_loop(function, i));
        // A constant number of barriers needs none of them.
        if !self.out[body..].contains("parameters") {
            self.out.insert_str(body, "    (void)parameters;\n");
        }
        line!(self.out, "}}\n");
    }

    /// One loop nest. The index of an access is the sum of the loops' counters, so that no loop repeats the work of
    /// another.
    fn kernels(&mut self, function: &Function, range: std::ops::Range<usize>) {
        if range.is_empty() {
            return;
        }
        line!(self.out, "    {{");
        for i in range.clone() {
            self.kernel_locals(i, &function.kernels[i]);
        }
        let mut index = String::new();
        for (level, i) in range.clone().enumerate() {
            index = if level == 0 { format!("i{i}") } else { format!("{index} + i{i}") };
            self.open_loop(level + 2, i, &index, &function.kernels[i]);
        }
        for level in (0..range.len()).rev() {
            line!(self.out, "{}}}", "    ".repeat(level + 2));
        }
        range.for_each(|i| self.keep_sum(i, &function.kernels[i]));
        line!(self.out, "    }}");
    }

    /// The head of kernel `i`'s loop and what it does.
    fn open_loop(&mut self, level: usize, i: usize, index: &str, kernel: &Kernel) {
        let (pad, int64) = ("    ".repeat(level), self.dialect.int64());
        line!(self.out, "{pad}for ({int64} i{i} = 0; i{i} < trips{i}; ++i{i}) {{");
        let index = if index.contains('+') { format!("({index})") } else { index.to_owned() };
        line!(self.out, "{pad}    const {int64} k{i} = {index} & mask;");
        line!(self.out, "{pad}    {}", statement(i, kernel));
    }

    fn keep_sum(&mut self, i: usize, kernel: &Kernel) {
        if accumulates(kernel.operation) {
            let sum = self.dialect.cast("double", &format!("sum{i}"));
            line!(self.out, "        {}checksum += {sum};", self.dialect.bench);
        }
    }

    fn kernel_locals(&mut self, i: usize, kernel: &Kernel) {
        let d = self.dialect;
        let (element, accumulates) = (d.element(kernel.element), accumulates(kernel.operation));
        line!(self.out, "        // {} of {}, {} times.", kernel.operation.name(), kernel.element.name(), kernel.trips);
        line!(self.out, "        const {} trips{i} = {};", d.int64(), d.rounded(&kernel.trips));
        let constant = if accumulates { "const " } else { "" };
        let array = d.cast(&format!("{constant}{element}*"), &d.parameter(&format!("arrays[{i}].elements")));
        line!(self.out, "        {constant}{element}* const a{i} = {array};");
        if kernel.operation == Operation::SparseAccess {
            let order = d.parameter(&format!("arrays[{i}].indices"));
            line!(self.out, "        const {}uint32_t* const order{i} = {order};", d.std);
        }
        if accumulates {
            // Sums of integers are wide enough to hold them.
            let sum = if kernel.element == Element::Int { d.int64() } else { element };
            line!(self.out, "        {sum} sum{i} = 0;");
        } else {
            let operand = match (kernel.element, kernel.operation) {
                (Element::Int, _) => d.parameter("odd"),
                // The mean of three keeps floating-point values in their range.
                (_, Operation::Stencil) => d.cast(&element, "1.0 / 3.0"),
                _ => d.cast(&element, &d.parameter("sign")),
            };
            line!(self.out, "        const {element} operand{i} = {operand};");
        }
    }

    /// The loop around the calls of one MPI operation.
    fn message_loop(&mut self, function: &Function, i: usize) {
        let (message, d) = (&function.messages[i], self.dialect);
        let (operation, element) = (message.operation, message.element.name());
        line!(self.out, "    {{");
        match operation {
            MpiOperation::Barrier => line!(self.out, "        // barrier, {} times.", message.calls),
            _ => {
                let what = format!("{} of {} {element}", operation.name(), message.elements);
                line!(self.out, "        // {what}, {} times.", message.calls);
                let elements = d.cast("int", &d.rounded(&message.elements));
                line!(self.out, "        const int elements = {elements};");
                let buffers = d.parameter(&format!("messages[{i}]"));
                line!(self.out, "        const {}Message message = {buffers};", d.bench);
            }
        }
        self.message_locals(operation);
        let work = message.work.as_ref().map(|kernel| (function.work_array(i), kernel));
        if let Some((array, kernel)) = work {
            self.kernel_locals(array, kernel);
        }
        line!(self.out, "        const {} calls = {};", d.int64(), d.rounded(&message.calls));
        line!(self.out, "        for ({} call = 0; call < calls; ++call) {{", d.int64());
        if operation.dimensions().is_some() {
            self.directions();
        }
        for step in exchange::steps(operation) {
            self.step(&function.name, message, work, &step);
        }
        line!(self.out, "        }}");
        if let Some((array, kernel)) = work {
            self.keep_sum(array, kernel);
        }
        line!(self.out, "    }}");
    }

    /// Locals of an operation, beside the elements, the buffers and the number of calls.
    fn message_locals(&mut self, operation: MpiOperation) {
        let d = self.dialect;
        let (p, rank) = (d.parameter("p"), d.parameter("rank"));
        let ranks = format!("const int ranks = {};", d.cast("int", &p));
        let locals = match operation {
            MpiOperation::Allgather | MpiOperation::Allreduce | MpiOperation::Gather | MpiOperation::Reduce => {
                vec![ranks]
            }
            MpiOperation::Alltoall => vec![ranks, format!("const int rank = {rank};")],
            MpiOperation::Scatter => vec![format!("const int rank = {rank};")],
            MpiOperation::SendReceive => vec![
                format!("const int partner = {}partner(parameters);", d.bench),
                format!("const bool first = {rank} % 2 == 0;"),
            ],
            MpiOperation::Halo => vec![
                ranks,
                format!("const int left = ({rank} + ranks - 1) % ranks;"),
                format!("const int right = ({rank} + 1) % ranks;"),
            ],
            MpiOperation::Wavefront2d | MpiOperation::Wavefront3d => {
                vec![format!("const {}Neighbours around = {};", d.bench, d.parameter("around"))]
            }
            MpiOperation::Barrier | MpiOperation::Broadcast => Vec::new(),
        };
        locals.iter().for_each(|local| line!(self.out, "        {local}"));
    }

    /// Sweeps go to and fro.
    fn directions(&mut self) {
        line!(self.out, "            const int* const upstream = call % 2 == 0 ? around.before : around.after;");
        line!(self.out, "            const int* const downstream = call % 2 == 0 ? around.after : around.before;");
    }

    fn step(&mut self, function: &str, message: &Message, work: Option<(usize, &Kernel)>, step: &Step) {
        let pad = " ".repeat(12);
        match step {
            Step::Call(call) => line!(self.out, "{pad}{}", spell_call(call, message.element)),
            Step::Either(first, second) => {
                let lines = |out: &mut String, calls: &[Call]| {
                    calls.iter().for_each(|call| line!(out, "{pad}    {}", spell_call(call, message.element)));
                };
                line!(self.out, "{pad}if (first) {{");
                lines(&mut self.out, first);
                line!(self.out, "{pad}}} else {{");
                lines(&mut self.out, second);
                line!(self.out, "{pad}}}");
            }
            Step::Clear(received) => {
                let clear = self.dialect.typed("clear", message.element);
                let (buffer, count) = (buffer(received), self.count(received));
                line!(self.out, "{pad}if ({}) {{", self.condition(received));
                line!(self.out, "{pad}    {clear}({buffer}, {count});\n{pad}}}");
            }
            Step::Check(received, mpi) => {
                line!(self.out, "{pad}if ({}) {{", self.condition(received));
                line!(self.out, "{pad}    {}\n{pad}}}", self.check(function, mpi, message, received));
            }
            Step::Work => {
                if let Some((array, kernel)) = work {
                    self.open_loop(3, array, &format!("call + i{array}"), kernel);
                    line!(self.out, "{pad}}}");
                }
            }
        }
    }

    /// The comparison of what was received with what must be there.
    fn check(&self, function: &str, mpi: &str, message: &Message, received: &Received) -> String {
        let d = self.dialect;
        let head = format!("(parameters, \"{function}: {mpi}\", {}, {}", buffer(received), self.count(received));
        let (source, offset) = match received.values {
            Values::Sums => return format!("{}{head}, ranks);", d.typed("check_sums", message.element)),
            Values::Of(peer) => (spell(peer), "0".to_owned()),
            Values::PartOf(peer) => (spell(peer), format!("{} * elements", d.cast(&d.int64(), "rank"))),
        };
        format!("{}{head}, elements, {source}, {offset});", d.typed("check", message.element))
    }

    fn condition(&self, received: &Received) -> String {
        let (verify, rank) = (self.dialect.parameter("verify"), self.dialect.parameter("rank"));
        match received.by {
            Receiver::All => verify,
            Receiver::Root => format!("{verify} && {rank} == 0"),
            Receiver::Others => format!("{verify} && {rank} != 0"),
            Receiver::With(peer) => format!("{verify} && {} != MPI_PROC_NULL", spell(peer)),
        }
    }

    fn count(&self, received: &Received) -> String {
        if received.of_all {
            format!("{} * elements", self.dialect.cast(&self.dialect.int64(), "ranks"))
        } else {
            "elements".to_owned()
        }
    }

    /// The check of sizes, the reading of arguments, and main.
    fn main_function(&mut self, spec: &Spec) {
        self.sizes_fit(spec);
        let d = self.dialect;
        let names: Vec<&str> = spec.parameter_names().skip(1).collect();
        let parameter = |&name| (name, d.parameter(name), "1, 9007199254740992LL");
        let flags = ["verify", "timing"].map(|name| (name, name.to_owned(), "0, 1"));
        let unknown = names.iter().map(parameter).chain(flags);
        let unknown =
            unknown.map(|(name, to, range)| format!("!{}value_of(argv[i], \"{name}\", {range}, &{to})", d.bench));
        let given = names.iter().map(|name| format!("{} >= 1.0", d.parameter(name)));
        let null = if d.language == Language::Cpp { "nullptr" } else { "NULL" };
        let complete = std::iter::once(format!("problem == {null}")).chain(given);
        let usage = names.iter().map(|name| format!(" {name}=INTEGER"));
        let mut calls = Writer { dialect: d, out: String::new() };
        for function in &spec.functions {
            calls.out.push_str(super::aligned(spec, function, "    MPI_Barrier(MPI_COMM_WORLD);\n"));
            calls.call(function);
        }
        let main = d
            .main
            .replace("@NAME@", &spec.name)
            .replace("@USAGE@", &usage.collect::<String>())
            .replace("@UNKNOWN@", &unknown.collect::<Vec<_>>().join(" &&\n            "))
            .replace("@COMPLETE@", &complete.collect::<Vec<_>>().join(" && "))
            .replace("@CALLS@", &calls.out);
        self.out.push_str(&main);
    }

    /// Sizes that the specification's own points do not exceed, checked for whatever the command line asks.
    fn sizes_fit(&mut self, spec: &Spec) {
        let d = self.dialect;
        line!(self.out, "// Whether every count of this run fits what holds it.");
        line!(self.out, "static bool sizes_fit({} parameters) {{\n    bool fit = true;", d.parameters);
        for (what, term, most) in spec.functions.iter().flat_map(super::limits) {
            let value = d.expression(term);
            line!(self.out, "    fit = {}fits(parameters, \"{what} {term}\", {value}, {most:.1}) && fit;", d.bench);
        }
        line!(self.out, "    return fit;\n}}\n");
    }

    /// Memory for a function, its call, and the release of the memory.
    fn call(&mut self, function: &Function) {
        let (name, d) = (&function.name, self.dialect);
        let cpp = d.language == Language::Cpp;
        let start = if cpp { "" } else { " = {{NULL}, 0}" };
        line!(self.out, "    {{\n        {}Memory memory{start};", d.bench);
        if function.with_arrays().next().is_some() {
            let length = format!("{}power_of_two({})", d.bench, d.rounded(&function.array));
            line!(self.out, "        const {} length = {length};", d.int64());
            line!(self.out, "        {} = length - 1;", d.parameter("mask"));
        }
        for (i, kernel) in function.with_arrays().enumerate() {
            let sparse = kernel.operation == Operation::SparseAccess;
            let (array, to) = (d.typed("array", kernel.element), d.parameter(&format!("arrays[{i}]")));
            line!(self.out, "        {to} = {array}({}, length, {sparse});", if cpp { "memory" } else { "&memory" });
        }
        for (i, message) in function.messages.iter().enumerate().filter(|(_, m)| m.operation != MpiOperation::Barrier) {
            let (send, receive) = message.operation.buffers();
            line!(self.out, "        const {} elements{i} = {};", d.int64(), d.rounded(&message.elements));
            let (send, receive) = (self.buffer_size(i, send), self.buffer_size(i, receive));
            let (make, to) = (d.typed("message", message.element), d.parameter(&format!("messages[{i}]")));
            let memory = if cpp { "memory" } else { "&memory" };
            line!(self.out, "        {to} = {make}({memory}, {}, {send}, {receive});", d.parameter("rank"));
        }
        if let Some(dimensions) = function.dimensions() {
            let around = d.parameter("around");
            line!(self.out, "        {around} = {}neighbours(parameters, {dimensions});", d.bench);
        }
        line!(self.out, "        const {0}clock_t start = {0}clock();", d.std);
        line!(self.out, "        {name}(parameters);");
        line!(self.out, "        {}report(parameters, \"{name}\", start);", d.bench);
        for (i, kernel) in function.with_arrays().enumerate() {
            let (keep, array) = (d.typed("keep", kernel.element), d.parameter(&format!("arrays[{i}]")));
            line!(self.out, "        {keep}({array});");
        }
        if !cpp {
            line!(self.out, "        bench_release(&memory);");
        }
        line!(self.out, "    }}");
    }

    fn buffer_size(&self, i: usize, by_rank: ByRank) -> String {
        match buffer_sizes(i, by_rank) {
            (root, None) => root,
            (root, Some(others)) => format!("{} == 0 ? {root} : {others}", self.dialect.parameter("rank")),
        }
    }
}

/// What one iteration does, on one line: line counters then count iterations. Integers stay below 2^15, so that nothing
/// overflows in any language.
fn statement(i: usize, kernel: &Kernel) -> String {
    let value = match kernel.operation {
        Operation::VectorReduction => return format!("sum{i} += a{i}[k{i}];"),
        Operation::SparseAccess => return format!("sum{i} += a{i}[order{i}[k{i}]];"),
        Operation::Multiply => format!("a{i}[k{i}] * operand{i}"),
        Operation::Add => format!("a{i}[k{i}] + operand{i}"),
        Operation::Stencil => {
            format!("(a{i}[k{i}] + a{i}[(k{i} + 1) & mask] + a{i}[(k{i} + 2) & mask]) * operand{i}")
        }
    };
    let value = if kernel.element == Element::Int { format!("({value}) & 32767") } else { value };
    let place = if kernel.operation == Operation::Stencil { format!("(k{i} + 1) & mask") } else { format!("k{i}") };
    format!("a{i}[{place}] = {value};")
}

fn spell_call(call: &Call, element: Element) -> String {
    let argument = |argument: &Argument| match *argument {
        Argument::Send => "message.send".to_owned(),
        Argument::Receive => "message.receive".to_owned(),
        Argument::Elements => "elements".to_owned(),
        Argument::Type => datatype(element).to_owned(),
        Argument::Plain(text) => text.to_owned(),
        Argument::Peer(peer) => spell(peer),
    };
    format!("{}({});", call.function, call.arguments.iter().map(argument).collect::<Vec<_>>().join(", "))
}

fn spell(peer: Peer) -> String {
    match peer {
        Peer::Root => "0".to_owned(),
        Peer::Left => "left".to_owned(),
        Peer::Right => "right".to_owned(),
        Peer::Partner => "partner".to_owned(),
        Peer::Upstream(dimension) => format!("upstream[{dimension}]"),
        Peer::Downstream(dimension) => format!("downstream[{dimension}]"),
    }
}

const fn buffer(received: &Received) -> &'static str {
    if received.in_send { "message.send" } else { "message.receive" }
}
