//! Fortran 2008. Benchmark functions are module procedures that are bound to their names, so that profiles know them by
//! the same names as in C.

use super::exchange::{self, Argument, Call, Peer, Received, Receiver, Step, Values};
use super::{Language, accumulates, buffer_sizes, head, line, most};
use crate::complexity::{Factor, Term};
use crate::operation::{ByRank, Element, MpiOperation, Operation};
use crate::spec::{Arrangement, Function, Kernel, Message, Spec};

const SUPPORT: &str = include_str!("support.f90.in");
const MAIN: &str = include_str!("main.f90.in");

/// Longer lines are continued; compilers take 132 characters.
const WIDTH: usize = 120;

/// The program of `spec`.
pub fn program(spec: &Spec) -> String {
    let mut out = String::new();
    head(spec, Language::Fortran).iter().for_each(|text| line!(out, "! {text}"));
    let members: Vec<String> =
        spec.parameter_names().map(|name| format!("        real(real64) :: {name} = 0")).collect();
    let arrays = most(spec, |f| f.with_arrays().count()) - 1;
    let messages = most(spec, |f| f.messages.len()) - 1;
    let support = SUPPORT
        .replace("@PARAMETERS@", &members.join("\n"))
        .replace("@ARRAYS@", &arrays.to_string())
        .replace("@MESSAGES@", &messages.to_string());
    out.push_str(&support);
    let mut writer = Writer::default();
    spec.functions.iter().for_each(|function| writer.benchmark(function));
    out.push_str(&writer.out);
    out.push_str(&main_program(spec));
    out
}

#[derive(Default)]
struct Writer {
    out: String,
}

/// The name of a function inside the program: names of Fortran know no case and may be those of intrinsics.
fn procedure(function: &Function) -> String {
    format!("run_{}", function.name)
}

fn number(value: f64) -> String {
    format!("{value:?}").replace('e', "e+").replace("e+-", "e-") + "_real64"
}

/// A term as an expression of type double, multiplied in the order in which [`Term::at`] multiplies. Powers and
/// logarithms are the C library's, so that they round as in the other languages.
fn expression(term: &Term) -> String {
    let mut parts: Vec<String> = term.factors.iter().flat_map(factors).collect();
    if term.coefficient != 1.0 || parts.is_empty() {
        parts.insert(0, number(term.coefficient));
    }
    parts.join(" * ")
}

fn factors(factor: &Factor) -> Vec<String> {
    let x = format!("parameters%{}", factor.parameter);
    let (numer, denom) = (*factor.exponent.numer(), *factor.exponent.denom());
    let power = match (numer, denom) {
        (0, _) => None,
        (1, 1) => Some(x.clone()),
        _ => Some(format!("c_pow({x}, {} / {})", number(f64::from(numer)), number(f64::from(denom)))),
    };
    let logarithms = (0..factor.log_exponent).map(|_| format!("c_log2({x})"));
    power.into_iter().chain(logarithms).collect()
}

fn rounded(term: &Term) -> String {
    format!("rounded({})", expression(term))
}

const fn datatype(element: Element) -> &'static str {
    match element {
        Element::Int => "MPI_INTEGER",
        Element::Float => "MPI_REAL",
        Element::Double => "MPI_DOUBLE_PRECISION",
    }
}

const fn type_of(element: Element) -> &'static str {
    match element {
        Element::Int => "integer(int32)",
        Element::Float => "real(real32)",
        Element::Double => "real(real64)",
    }
}

/// The member of an array that points to its elements.
const fn member(element: Element) -> &'static str {
    match element {
        Element::Int => "ints",
        Element::Float => "floats",
        Element::Double => "doubles",
    }
}

/// The support code's constant for a type of elements.
const fn constant(element: Element) -> &'static str {
    match element {
        Element::Int => "int_elements",
        Element::Float => "float_elements",
        Element::Double => "double_elements",
    }
}

impl Writer {
    /// A statement, continued where it is long; words and texts are not torn.
    fn statement(&mut self, indent: usize, text: &str) {
        let pad = " ".repeat(indent);
        let (mut line, mut quoted) = (pad.clone(), false);
        for word in text.split_inclusive(' ') {
            if line.len() + word.len() > WIDTH && !quoted && line.len() > pad.len() {
                line!(self.out, "{}&", line);
                line = format!("{pad}    ");
            }
            quoted ^= word.matches('\'').count() % 2 == 1;
            line.push_str(word);
        }
        line!(self.out, "{line}");
    }

    /// One benchmark function: its kernels, then its messages.
    fn benchmark(&mut self, function: &Function) {
        let name = procedure(function);
        line!(self.out, "\n    subroutine {name}() bind(C, name='{}')", function.name);
        if function.with_arrays().next().is_some() {
            line!(self.out, "        integer(int64) :: mask");
            line!(self.out, "        mask = parameters%mask");
        }
        match function.arrangement {
            Arrangement::Sequential => (0..function.kernels.len()).for_each(|i| self.kernels(function, i..i + 1)),
            Arrangement::Nested => self.kernels(function, 0..function.kernels.len()),
        }
        (0..function.messages.len()).for_each(|i| self.message_loop(function, i));
        line!(self.out, "    end subroutine {name}");
    }

    /// One loop nest. The index of an access is the sum of the loops' counters, so that no loop repeats the work of
    /// another.
    fn kernels(&mut self, function: &Function, range: std::ops::Range<usize>) {
        if range.is_empty() {
            return;
        }
        line!(self.out, "        block");
        range.clone().for_each(|i| self.declarations(i, &function.kernels[i]));
        range.clone().for_each(|i| self.assignments(i, &function.kernels[i]));
        let mut index = String::new();
        for (level, i) in range.clone().enumerate() {
            index = if level == 0 { format!("i{i}") } else { format!("{index} + i{i}") };
            self.open_loop(12 + 4 * level, i, &index, &function.kernels[i]);
        }
        for level in (0..range.len()).rev() {
            line!(self.out, "{}end do", " ".repeat(12 + 4 * level));
        }
        range.for_each(|i| self.keep_sum(i, &function.kernels[i]));
        line!(self.out, "        end block");
    }

    fn open_loop(&mut self, indent: usize, i: usize, index: &str, kernel: &Kernel) {
        self.statement(indent, &format!("do i{i} = 0, trips{i} - 1"));
        self.statement(indent + 4, &format!("k{i} = iand({index}, mask)"));
        self.statement(indent + 4, &kernel_statement(i, kernel));
    }

    fn keep_sum(&mut self, i: usize, kernel: &Kernel) {
        if accumulates(kernel.operation) {
            line!(self.out, "            checksum = checksum + real(sum{i}, real64)");
        }
    }

    fn declarations(&mut self, i: usize, kernel: &Kernel) {
        let element = type_of(kernel.element);
        line!(self.out, "            integer(int64) :: i{i}, k{i}, trips{i}");
        line!(self.out, "            {element}, pointer, contiguous :: a{i}(:)");
        if kernel.operation == Operation::SparseAccess {
            line!(self.out, "            integer(int32), pointer, contiguous :: order{i}(:)");
        }
        if accumulates(kernel.operation) {
            // Sums of integers are wide enough to hold them.
            let sum = if kernel.element == Element::Int { "integer(int64)" } else { element };
            line!(self.out, "            {sum} :: sum{i}");
        } else {
            line!(self.out, "            {element} :: operand{i}");
        }
    }

    fn assignments(&mut self, i: usize, kernel: &Kernel) {
        let element = member(kernel.element);
        line!(
            self.out,
            "            ! {} of {}, {} times.",
            kernel.operation.name(),
            kernel.element.name(),
            kernel.trips
        );
        self.statement(12, &format!("trips{i} = {}", rounded(&kernel.trips)));
        line!(self.out, "            a{i}(0:) => parameters%arrays({i})%{element}");
        if kernel.operation == Operation::SparseAccess {
            line!(self.out, "            order{i}(0:) => parameters%arrays({i})%indices");
        }
        if accumulates(kernel.operation) {
            line!(self.out, "            sum{i} = 0");
        } else {
            let operand = match (kernel.element, kernel.operation) {
                (Element::Int, _) => "parameters%odd",
                // The mean of three keeps floating-point values in their range.
                (Element::Float, Operation::Stencil) => "real(1.0_real64 / 3.0_real64, real32)",
                (Element::Double, Operation::Stencil) => "1.0_real64 / 3.0_real64",
                (Element::Float, _) => "real(parameters%sign, real32)",
                (Element::Double, _) => "parameters%sign",
            };
            line!(self.out, "            operand{i} = {operand}");
        }
    }

    /// The loop around the calls of one MPI operation.
    fn message_loop(&mut self, function: &Function, i: usize) {
        let message = &function.messages[i];
        let (operation, element) = (message.operation, message.element.name());
        let work = message.work.as_ref().map(|kernel| (function.work_array(i), kernel));
        line!(self.out, "        block");
        line!(self.out, "            integer(int64) :: call_, calls");
        self.message_declarations(operation);
        if let Some((array, kernel)) = work {
            self.declarations(array, kernel);
        }
        if operation == MpiOperation::Barrier {
            line!(self.out, "            ! barrier, {} times.", message.calls);
        } else {
            let (name, elements) = (operation.name(), &message.elements);
            line!(self.out, "            ! {name} of {elements} {element}, {} times.", message.calls);
            self.statement(12, &format!("elements = int({})", rounded(elements)));
            line!(self.out, "            send => parameters%messages({i})%send");
            if operation != MpiOperation::Broadcast {
                line!(self.out, "            receive => parameters%messages({i})%receive");
            }
        }
        self.message_assignments(operation);
        if let Some((array, kernel)) = work {
            self.assignments(array, kernel);
        }
        self.statement(12, &format!("calls = {}", rounded(&message.calls)));
        line!(self.out, "            do call_ = 0, calls - 1");
        if operation.dimensions().is_some() {
            self.directions();
        }
        for step in exchange::steps(operation) {
            self.step(&function.name, message, work, &step);
        }
        line!(self.out, "            end do");
        if let Some((array, kernel)) = work {
            self.keep_sum(array, kernel);
        }
        line!(self.out, "        end block");
    }

    fn message_declarations(&mut self, operation: MpiOperation) {
        if operation != MpiOperation::Barrier {
            line!(self.out, "            integer :: elements");
            // Some operations have one buffer.
            let buffers = if operation == MpiOperation::Broadcast { "send(:)" } else { "send(:), receive(:)" };
            line!(self.out, "            integer(int32), pointer, contiguous :: {buffers}");
        }
        let locals = match operation {
            MpiOperation::Halo => "integer :: left, right",
            MpiOperation::SendReceive => "integer :: partner",
            MpiOperation::Wavefront2d | MpiOperation::Wavefront3d => "integer :: upstream(0:2), downstream(0:2)",
            _ => return,
        };
        line!(self.out, "            {locals}");
    }

    fn message_assignments(&mut self, operation: MpiOperation) {
        match operation {
            MpiOperation::Halo => {
                line!(self.out, "            left = modulo(parameters%rank - 1, parameters%ranks)");
                line!(self.out, "            right = modulo(parameters%rank + 1, parameters%ranks)");
            }
            MpiOperation::SendReceive => line!(self.out, "            partner = other_of_pair()"),
            _ => {}
        }
    }

    /// Sweeps go to and fro.
    fn directions(&mut self) {
        line!(self.out, "                if (mod(call_, 2_int64) == 0) then");
        line!(self.out, "                    upstream = parameters%before");
        line!(self.out, "                    downstream = parameters%after");
        line!(self.out, "                else");
        line!(self.out, "                    upstream = parameters%after");
        line!(self.out, "                    downstream = parameters%before");
        line!(self.out, "                end if");
    }

    fn step(&mut self, function: &str, message: &Message, work: Option<(usize, &Kernel)>, step: &Step) {
        match step {
            Step::Call(call) => self.statement(16, &spell_call(call, message.element)),
            Step::Either(first, second) => {
                line!(self.out, "                if (mod(parameters%rank, 2) == 0) then");
                first.iter().for_each(|call| self.statement(20, &spell_call(call, message.element)));
                line!(self.out, "                else");
                second.iter().for_each(|call| self.statement(20, &spell_call(call, message.element)));
                line!(self.out, "                end if");
            }
            Step::Clear(received) => {
                line!(self.out, "                if ({}) {} = 0", condition(received), buffer(received));
            }
            Step::Check(received, mpi) => {
                line!(self.out, "                if ({}) then", condition(received));
                self.statement(20, &check(function, mpi, message, received));
                line!(self.out, "                end if");
            }
            Step::Work => {
                if let Some((array, kernel)) = work {
                    self.open_loop(16, array, &format!("call_ + i{array}"), kernel);
                    line!(self.out, "                end do");
                }
            }
        }
    }

    /// Memory for a function, its call, and the release of the memory.
    fn call(&mut self, function: &Function) {
        if function.with_arrays().next().is_some() {
            self.statement(4, &format!("length = power_of_two({})", rounded(&function.array)));
            line!(self.out, "    parameters%mask = length - 1");
        }
        for (i, kernel) in function.with_arrays().enumerate() {
            let sparse = if kernel.operation == Operation::SparseAccess { ".true." } else { ".false." };
            line!(self.out, "    call make_array({i}, {}, length, {sparse})", constant(kernel.element));
        }
        for (i, message) in function.messages.iter().enumerate().filter(|(_, m)| m.operation != MpiOperation::Barrier) {
            let (send, receive) = message.operation.buffers();
            self.statement(4, &format!("elements = {}", rounded(&message.elements)));
            let (send, receive) = (buffer_size(i, send), buffer_size(i, receive));
            self.statement(4, &format!("call make_message({i}, {}, {send}, {receive})", constant(message.element)));
        }
        if let Some(dimensions) = function.dimensions() {
            line!(self.out, "    call find_neighbours({dimensions})");
        }
        line!(self.out, "    opaque = c_funloc({})", procedure(function));
        line!(self.out, "    call cpu_time(start)");
        line!(self.out, "    call c_f_procpointer(opaque, benchmark)");
        line!(self.out, "    call benchmark()");
        line!(self.out, "    call report('{}', start)", function.name);
        for (i, kernel) in function.with_arrays().enumerate() {
            line!(
                self.out,
                "    checksum = checksum + real(parameters%arrays({i})%{}(0), real64)",
                member(kernel.element)
            );
        }
        line!(self.out, "    call release()");
    }
}

/// What one iteration does, on one line: line counters then count iterations. Integers stay below 2^15, so that nothing
/// overflows.
fn kernel_statement(i: usize, kernel: &Kernel) -> String {
    let value = match kernel.operation {
        Operation::VectorReduction => return format!("sum{i} = sum{i} + a{i}(k{i})"),
        Operation::SparseAccess => return format!("sum{i} = sum{i} + a{i}(order{i}(k{i}))"),
        Operation::Multiply => format!("a{i}(k{i}) * operand{i}"),
        Operation::Add => format!("a{i}(k{i}) + operand{i}"),
        Operation::Stencil => {
            format!("(a{i}(k{i}) + a{i}(iand(k{i} + 1, mask)) + a{i}(iand(k{i} + 2, mask))) * operand{i}")
        }
    };
    let value = if kernel.element == Element::Int { format!("iand({value}, 32767)") } else { value };
    let place = if kernel.operation == Operation::Stencil { format!("iand(k{i} + 1, mask)") } else { format!("k{i}") };
    format!("a{i}({place}) = {value}")
}

fn spell_call(call: &Call, element: Element) -> String {
    let argument = |argument: &Argument| match *argument {
        Argument::Send => "send".to_owned(),
        Argument::Receive => "receive".to_owned(),
        Argument::Elements => "elements".to_owned(),
        Argument::Type => datatype(element).to_owned(),
        Argument::Plain(text) => text.to_owned(),
        Argument::Peer(peer) => spell(peer),
    };
    let arguments: Vec<String> = call.arguments.iter().map(argument).chain(["ierror".to_owned()]).collect();
    format!("call {}({})", call.function, arguments.join(", "))
}

fn spell(peer: Peer) -> String {
    match peer {
        Peer::Root => "0".to_owned(),
        Peer::Left => "left".to_owned(),
        Peer::Right => "right".to_owned(),
        Peer::Partner => "partner".to_owned(),
        Peer::Upstream(dimension) => format!("upstream({dimension})"),
        Peer::Downstream(dimension) => format!("downstream({dimension})"),
    }
}

const fn buffer(received: &Received) -> &'static str {
    if received.in_send { "send" } else { "receive" }
}

fn condition(received: &Received) -> String {
    const VERIFY: &str = "parameters%verify";
    match received.by {
        Receiver::All => VERIFY.to_owned(),
        Receiver::Root => format!("{VERIFY} .and. parameters%rank == 0"),
        Receiver::Others => format!("{VERIFY} .and. parameters%rank /= 0"),
        Receiver::With(peer) => format!("{VERIFY} .and. {} /= MPI_PROC_NULL", spell(peer)),
    }
}

/// The comparison of what was received with what must be there.
fn check(function: &str, mpi: &str, message: &Message, received: &Received) -> String {
    let count = if received.of_all { "parameters%ranks * int(elements, int64)" } else { "int(elements, int64)" };
    let head = format!("'{function}: {mpi}', {}, {}, {count}", buffer(received), constant(message.element));
    match received.values {
        Values::Sums => format!("call check_sums({head})"),
        Values::Of(peer) => format!("call check({head}, elements, {}, 0_int64)", spell(peer)),
        Values::PartOf(peer) => {
            format!("call check({head}, elements, {}, parameters%rank * int(elements, int64))", spell(peer))
        }
    }
}

fn buffer_size(i: usize, by_rank: ByRank) -> String {
    let spelled = |size: String| match size.as_str() {
        "0" => "0_int64".to_owned(),
        _ => size.replace(&format!("elements{i}"), "elements").replace("ranks", "parameters%ranks"),
    };
    match buffer_sizes(i, by_rank) {
        (root, None) => spelled(root),
        (root, Some(others)) => format!("merge({}, {}, parameters%rank == 0)", spelled(root), spelled(others)),
    }
}

/// The check of sizes, the reading of arguments, and the program.
fn main_program(spec: &Spec) -> String {
    let names: Vec<&str> = spec.parameter_names().skip(1).collect();
    let mut sizes = Writer::default();
    for (what, term, most) in spec.functions.iter().flat_map(super::limits) {
        let (value, most) = (expression(term), number(most));
        sizes.statement(8, &format!("fit = fits('{what} {term}', {value}, {most}) .and. fit"));
    }
    let mut reading = Writer::default();
    for name in &names {
        reading.statement(12, &format!("if (value_of(text, '{name}', 1_int64, largest, parameters%{name})) cycle"));
    }
    let missing: String = names.iter().map(|name| format!(" .or. parameters%{name} < 1")).collect();
    let mut complete = Writer::default();
    complete.statement(8, &format!("good = .not. (problem{missing})"));
    let usage: String = names.iter().map(|name| format!(" {name}=INTEGER")).collect();
    let mut calls = Writer::default();
    for function in &spec.functions {
        calls.out.push_str(super::aligned(spec, function, "    call MPI_Barrier(MPI_COMM_WORLD, ierror)\n"));
        calls.call(function);
    }
    MAIN.replace("@NAME@", &spec.name)
        .replace("@SIZES@", &sizes.out)
        .replace("@READING@", &reading.out)
        .replace("@COMPLETE@", &complete.out)
        .replace("@USAGE@", &usage)
        .replace("@CALLS@", &calls.out)
}
