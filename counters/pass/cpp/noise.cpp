// Noise injection at the end of the middle end: which loops can have it, and the pass that gives it to them.

#include "noise.hpp"

#include "llvm/Analysis/CFG.h"
#include "llvm/Analysis/LoopIterator.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/PassManager.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Transforms/Utils/LoopUtils.h"

using namespace llvm;
using poise::Noise;
using poise::Target;

namespace {

// Clang's hint that reaches the end of the middle end and means nothing on the targets known here.
constexpr const char *Mark = "llvm.loop.pipeline.disable";
// A loop around innermost ones is cloned with them if it is small, in instructions and in loops.
constexpr unsigned LargestNest = 600, MostLoops = 4;

// Whether the function has a node of its own in the call tree, so that loops may hide in it.
bool isNode(const Function &function) {
    for (const BasicBlock &block : function)
        for (const Instruction &instruction : block)
            if (auto *call = dyn_cast<CallInst>(&instruction))
                if (call->getCalledFunction() && call->getCalledFunction()->getName() == "poise_enter")
                    return true;
    return false;
}

// Why the assembly cannot stand twice in a program, or nothing.
std::string refuseAssembly(const InlineAsm &assembly) {
    for (const auto &constraint : assembly.ParseConstraints())
        if (constraint.Type != InlineAsm::isClobber)
            for (const std::string &code : constraint.Codes)
                if (StringRef(code).starts_with("{"))
                    return "it has inline assembly with fixed registers";
    if (StringRef(assembly.getAsmString()).contains(':'))
        return "it has inline assembly with a label";
    return "";
}

std::string refuseCall(const CallBase &call, const TargetLibraryInfo &library) {
    if (call.isInlineAsm())
        return refuseAssembly(*cast<InlineAsm>(call.getCalledOperand()));
    if (call.isConvergent())
        return "it has convergent operations";
    if (call.cannotDuplicate())
        return "it calls something that must not be duplicated";
    if (call.hasFnAttr(Attribute::ReturnsTwice))
        return "it calls setjmp";
    if (isa<IntrinsicInst>(call)) {
        static const Intrinsic::ID bound[] = {Intrinsic::vastart, Intrinsic::eh_typeid_for, Intrinsic::localescape,
                                              Intrinsic::stacksave, Intrinsic::stackrestore};
        return is_contained(bound, call.getIntrinsicID()) ? "it depends on the function's frame" : "";
    }
    const Function *callee = call.getCalledFunction();
    if (!callee)
        return "it calls through a pointer";
    std::string name = callee->getName().str();
    // Counts blocks, and knows nothing of loops.
    if (name == "poise_inlined")
        return "";
    LibFunc known;
    if (callee->isDeclaration() ? !library.getLibFunc(*callee, known) : isNode(*callee))
        return "it calls " + name + ", which may have loops of its own";
    return call.doesNotThrow() || callee->isDeclaration() ? "" : "it calls " + name + ", which may throw";
}

// Why the loop cannot be cloned, or nothing.
std::string refuse(const Loop &loop, const TargetLibraryInfo &library) {
    for (const BasicBlock *block : loop.blocks()) {
        if (block->hasAddressTaken())
            return "a block's address is taken";
        const Instruction *end = block->getTerminator();
        if (block->isEHPad() || isa<InvokeInst>(end) || isa<ResumeInst>(end))
            return "it has exception edges";
        if (isa<IndirectBrInst>(end) || isa<CallBrInst>(end))
            return "it has computed jumps";
        for (const Instruction &instruction : *block) {
            if (isa<AllocaInst>(instruction))
                return "it allocates on the stack";
            if (instruction.getType()->isTokenTy())
                return "it has operations that cannot be cloned";
            if (auto *call = dyn_cast<CallBase>(&instruction))
                if (std::string reason = refuseCall(*call, library); !reason.empty())
                    return reason;
        }
    }
    SmallVector<BasicBlock *, 4> exits;
    loop.getUniqueExitBlocks(exits);
    for (BasicBlock *exit : exits)
        if (exit->isEHPad())
            return "it has exception edges";
    return exits.empty() ? "it never ends" : "";
}

unsigned heightOf(const Loop &loop) {
    unsigned height = 0;
    for (const Loop *inner : loop.getSubLoops())
        height = std::max(height, 1 + heightOf(*inner));
    return height;
}

Target targetOf(const Loop &loop, unsigned id) {
    Target target{loop.getHeader(), "", 0, id, ""};
    if (DebugLoc start = loop.getStartLoc()) {
        target.line = start.getLine();
        target.file = cast<DIScope>(start.getScope())->getFilename().str();
    }
    return target;
}

bool isTarget(const Loop &loop, const Target &target) {
    std::string function = loop.getHeader()->getParent()->getName().str();
    poise_loop asked{function.c_str(), target.file.c_str(), target.line, heightOf(loop),
                     findOptionMDForLoop(&loop, Mark) ? 1u : 0u};
    return poise_noise_is_target(&asked);
}

// Whether the loop around the target can be chosen for instead: its entries are longer, and its code is small.
bool canSurround(const Loop *loop, const TargetLibraryInfo &library) {
    if (!loop || heightOf(*loop) > 1 || loop->getSubLoops().size() > MostLoops)
        return false;
    unsigned size = 0;
    for (const BasicBlock *block : loop->blocks())
        size += block->size();
    return size <= LargestNest && refuse(*loop, library).empty();
}

// A loop to choose at, with the targets in it, innermost loops last.
struct Plan {
    BasicBlock *header;
    std::vector<unsigned> inner;
    unsigned level;
};

class Planner {
  public:
    Planner(Function &function, const TargetLibraryInfo &library)
        : function(function), library(library), tree(function), loops(tree) {
        unsigned id = 0;
        for (Loop *loop : loops.getLoopsInPreorder())
            consider(*loop, id++);
        irreducible(id);
    }

    std::vector<Target> targets;
    std::vector<Plan> around, single;

  private:
    void consider(const Loop &loop, unsigned id) {
        Target target = targetOf(loop, id);
        if (!isTarget(loop, target))
            return;
        target.refusal = refuse(loop, library);
        unsigned index = targets.size();
        targets.push_back(target);
        if (!target.refusal.empty())
            return;
        single.push_back({loop.getHeader(), {index}, 0});
        const Loop *parent = loop.getParentLoop();
        if (!canSurround(parent, library))
            return;
        for (Plan &plan : around)
            if (plan.header == parent->getHeader()) {
                plan.inner.push_back(index);
                return;
            }
        around.push_back({parent->getHeader(), {index}, 1});
    }

    // Cycles with several entries are no loops to LLVM; one target says so for all of them.
    void irreducible(unsigned id) {
        ReversePostOrderTraversal<Function *> blocks(&function);
        if (!containsIrreducibleCFG<const BasicBlock *>(blocks, loops))
            return;
        Target target{nullptr, "", 0, id, "it is a cycle with several entries"};
        if (DISubprogram *program = function.getSubprogram()) {
            target.line = program->getLine();
            target.file = program->getFilename().str();
        }
        targets.push_back(target);
    }

    Function &function;
    const TargetLibraryInfo &library;
    DominatorTree tree;
    LoopInfo loops;
};

bool injectInPlace(Noise &noise, const Planner &planner) {
    const poise_variant *variants;
    bool changed = false;
    if (poise_noise_variants(&variants) == 1)
        for (const Plan &plan : planner.single)
            changed |= poise::inject(noise, plan.header, variants[0]);
    return changed;
}

bool process(Noise &noise, Function &function, const TargetLibraryInfo &library) {
    Planner planner(function, library);
    if (planner.targets.empty())
        return false;
    if (poise_noise_is_fixed())
        return injectInPlace(noise, planner);
    std::vector<unsigned> numbers;
    ValueToValueMapTy map;
    Function *twin = planner.single.empty() ? nullptr : poise::twinOf(noise, function, map);
    auto twinned = [&](BasicBlock *block) { return twin && block ? cast<BasicBlock>(map[block]) : block; };
    for (Target &target : planner.targets)
        target.header = twinned(target.header);
    auto build = [&](const Plan &plan) {
        BasicBlock *header = plan.level > 0 ? twinned(plan.header) : planner.targets[plan.inner[0]].header;
        return poise::build(noise, function.getName(), header, plan.inner, planner.targets, numbers, plan.level);
    };
    // Numbers are given in advance, since loops in two plans have one number; the reasons come when all is done.
    for (unsigned index = 0; index < planner.targets.size(); index++)
        numbers.push_back(noise.loops.size() + index);
    for (const Plan &plan : planner.around)
        build(plan);
    for (const Plan &plan : planner.single)
        planner.targets[plan.inner[0]].refusal = build(plan);
    for (const Target &target : planner.targets)
        noise.describe(function, target);
    if (verifyFunction(function, &errs()) || (twin && verifyFunction(*twin, &errs())))
        report_fatal_error("poise: noise injection broke the function; please report it");
    return true;
}

struct NoisePass : PassInfoMixin<NoisePass> {
    PreservedAnalyses run(Module &module, ModuleAnalysisManager &analyses) {
        if (!poise_noise_wanted(module.getTargetTriple().c_str()))
            return PreservedAnalyses::all();
        auto &functions = analyses.getResult<FunctionAnalysisManagerModuleProxy>(module).getManager();
        std::vector<Function *> all;
        for (Function &function : module)
            if (!function.isDeclaration() && !function.hasAvailableExternallyLinkage() &&
                !function.hasFnAttribute("poise-noise") && !function.hasFnAttribute(Attribute::Naked))
                all.push_back(&function);
        Noise noise(module);
        bool changed = false;
        for (Function *function : all) {
            changed |= process(noise, *function, functions.getResult<TargetLibraryAnalysis>(*function));
            function->addFnAttr("poise-noise");
        }
        if (!noise.loops.empty())
            noise.enrol();
        return changed ? PreservedAnalyses::none() : PreservedAnalyses::all();
    }

    static bool isRequired() { return true; }
};

} // namespace

extern "C" void poise_register_noise(PassBuilder &builder) {
#if LLVM_VERSION_MAJOR >= 20
    builder.registerOptimizerLastEPCallback(
        [](ModulePassManager &passes, OptimizationLevel, ThinOrFullLTOPhase) { passes.addPass(NoisePass()); });
#else
    builder.registerOptimizerLastEPCallback(
        [](ModulePassManager &passes, OptimizationLevel) { passes.addPass(NoisePass()); });
#endif
    builder.registerPipelineParsingCallback(
        [](StringRef name, ModulePassManager &passes, ArrayRef<PassBuilder::PipelineElement>) {
            if (name != "poise-noise")
                return false;
            passes.addPass(NoisePass());
            return true;
        });
}
