// Closed forms: where a loop adds the same to an accumulator in every iteration and its trip count is known when it is
// entered, the accumulator's value after the loop is computed before it, and the loop does not count at all. And the
// blocks around loops that this takes.

#include "versions.hpp"

#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/Analysis/TargetTransformInfo.h"
#include "llvm/IR/CFG.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PassManager.h"
#include "llvm/IR/ValueHandle.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/LoopUtils.h"
#include "llvm/Transforms/Utils/ScalarEvolutionExpander.h"

using namespace llvm;

namespace {

// What an expansion may cost in LLVM's units: enough for the trip count of a loop over a row of a sparse matrix (two
// loads, their conversion, a maximum), which at 4, LLVM's own choice for other purposes, would not be closed.
constexpr unsigned Budget = 20;

class Closer {
  public:
    Closer(Function &function, FunctionAnalysisManager &analyses)
        : loops(analyses.getResult<LoopAnalysis>(function)), evolution(analyses.getResult<ScalarEvolutionAnalysis>(function)),
          costs(analyses.getResult<TargetIRAnalysis>(function)),
          expander(evolution, function.getParent()->getDataLayout(), "poise") {}

    unsigned depth(const PHINode *phi) const { return loops.getLoopDepth(phi->getParent()); }

    // Takes the accumulator `phi` out of the loop whose header it is in, if possible.
    void close(PHINode *phi) {
        Loop *loop = loops.getLoopFor(phi->getParent());
        if (!loop || loop->getHeader() != phi->getParent() || !loop->getLoopPreheader())
            return;
        chain.clear();
        uses.clear();
        if (!collect(phi, loop) || !evaluate(loop))
            return;
        Instruction *before = loop->getLoopPreheader()->getTerminator();
        for (auto &[use, value] : uses) {
            auto *user = cast<Instruction>(use->getUser());
            use->set(expander.expandCodeFor(value, use->get()->getType(), poise::place(before->getIterator())));
            evolution.forgetValue(user);
        }
        for (Instruction *dead : chain) {
            evolution.forgetValue(dead);
            dead->replaceAllUsesWith(PoisonValue::get(dead->getType()));
        }
        for (Instruction *dead : chain)
            dead->eraseFromParent();
    }

  private:
    // Gathers all that the loop computes from `phi`, and the uses of it after the loop. False where the loop itself
    // needs the accumulator.
    bool collect(PHINode *phi, Loop *loop) {
        chain.insert(phi);
        for (unsigned index = 0; index < chain.size(); index++)
            for (Use &use : chain[index]->uses()) {
                auto *user = cast<Instruction>(use.getUser());
                if (!loop->contains(user))
                    uses.push_back({&use, nullptr});
                else if (isa<BinaryOperator>(user) || isa<PHINode>(user))
                    chain.insert(user);
                else
                    return false;
            }
        return !uses.empty();
    }

    // Finds what each use is after the loop, in terms of what is known before it.
    bool evaluate(Loop *loop) {
        Instruction *before = loop->getLoopPreheader()->getTerminator();
        for (auto &[use, value] : uses) {
            value = evolution.getSCEVAtScope(evolution.getSCEV(use->get()), loop->getParentLoop());
            if (isa<SCEVCouldNotCompute>(value) || !evolution.isLoopInvariant(value, loop) ||
                !expander.isSafeToExpandAt(value, before) ||
                expander.isHighCostExpansion(value, loop, Budget, &costs, before))
                return false;
        }
        return true;
    }

    LoopInfo &loops;
    ScalarEvolution &evolution;
    TargetTransformInfo &costs;
    SCEVExpander expander;
    SmallSetVector<Instruction *, 8> chain;
    SmallVector<std::pair<Use *, const SCEV *>, 8> uses;
};

} // namespace

// Gives each loop that lacks them a block before it, from which alone it is entered, and blocks behind it, which are entered from it
// alone: at this point of the pipeline they were merged away where they are empty. What is to be done once before or after a
// loop has a place outside of it and of the next one then, and is in the way of no loop's vectorisation. LLVM's own loop passes, which come
// next where there is optimisation, make the same blocks, and those that stay empty are merged away again.
extern "C" void poise_part_loops(FunctionAnalysisManager *analyses, LLVMValueRef function) {
    auto &counted = *unwrap<Function>(function);
    if (counted.hasOptNone())
        return;
    auto &loops = analyses->getResult<LoopAnalysis>(counted);
    auto &dominators = analyses->getResult<DominatorTreeAnalysis>(counted);
    bool changes = false;
    // Inner loops first: what an outer loop gets behind it is entered from that alone then, although an exit of an inner one leads there.
    auto outer_first = loops.getLoopsInPreorder();
    for (Loop *loop : reverse(outer_first)) {
        SmallVector<BasicBlock *, 4> exits;
        loop->getUniqueExitBlocks(exits);
        for (BasicBlock *exit : exits) {
            SmallSetVector<BasicBlock *, 4> from;
            for (BasicBlock *before : predecessors(exit))
                if (loop->contains(before))
                    from.insert(before);
            auto computed = [](BasicBlock *before) { return isa<IndirectBrInst, CallBrInst>(before->getTerminator()); };
            auto outside = [&](BasicBlock *before) { return !loop->contains(before); };
            // Nothing is put before the landing pad of an exception, or between a computed jump and where it leads. Where a loop
            // around goes on, what ends it stays what it is.
            bool goes_on = loops.isLoopHeader(exit) && loops.getLoopFor(exit)->contains(loop);
            if (goes_on || exit->isEHPad() || none_of(predecessors(exit), outside) || any_of(from, computed))
                continue;
            changes |= SplitBlockPredecessors(exit, from.getArrayRef(), ".poise", &dominators, &loops) != nullptr;
        }
        if (!loop->getLoopPreheader() && !loop->getHeader()->isEHPad())
            changes |= InsertPreheaderForLoop(loop, &dominators, &loops, nullptr, false) != nullptr;
    }
    if (!changes)
        return;
    auto preserved = PreservedAnalyses::none();
    preserved.preserve<LoopAnalysis>();
    preserved.preserve<DominatorTreeAnalysis>();
    analyses->invalidate(counted, preserved);
}

// `phis` are all phis of the function's accumulator. The control flow must be as the analyses know it.
extern "C" void poise_close(FunctionAnalysisManager *analyses, LLVMValueRef function, LLVMValueRef *phis, size_t count) {
    auto &counted = *unwrap<Function>(function);
    if (counted.hasOptNone() || count == 0)
        return;
    Closer closer(counted, *analyses);
    // Closing a loop erases phis inside of it: the handles become null then.
    std::vector<WeakVH> open;
    for (size_t index = 0; index < count; index++)
        open.emplace_back(unwrap(phis[index]));
    // Inner loops first: their closed forms are what outer loops add.
    std::stable_sort(open.begin(), open.end(), [&](const WeakVH &a, const WeakVH &b) {
        return closer.depth(cast<PHINode>(a)) > closer.depth(cast<PHINode>(b));
    });
    for (WeakVH &phi : open)
        if (phi)
            closer.close(cast<PHINode>(phi));
}
