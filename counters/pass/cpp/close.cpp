// Closed forms: where a loop adds the same to an accumulator in every iteration and its trip count is known when it is
// entered, the accumulator's value after the loop is computed before it, and the loop does not count at all.

#include "versions.hpp"

#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/Analysis/TargetTransformInfo.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PassManager.h"
#include "llvm/IR/ValueHandle.h"
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
