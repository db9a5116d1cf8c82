// One place where a variant of a loop is chosen. The loop stays as it is; beside it stands code that asks the runtime which
// variant to run for how many iterations, runs it, and asks again until the loop is done:
//
//   before ── nobody asks ──▶ the loop ──▶ after        (one load and one branch more)
//     └──▶ choose ◀────────────┐
//            ├▶ variant(state) ┴─ done ──▶ after
//            └▶ a copy of the loop ──▶ after            (where the runtime declines)
//
// The variants are functions: copies of one that holds the loop's clone, extracted from where it stood.

#include "noise.hpp"
#include "versions.hpp"

#include "llvm/Analysis/AssumptionCache.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include "llvm/Transforms/Utils/CodeExtractor.h"
#include "llvm/Transforms/Utils/Local.h"
#include "llvm/Transforms/Utils/LoopSimplify.h"
#include "llvm/Transforms/Utils/LoopUtils.h"

using namespace llvm;

namespace {

// `next = phi + step` decides alone, by equality with `limit`, when the loop ends. Then a chunk of iterations needs no
// counter, only a nearer limit.
struct Affine {
    PHINode *phi = nullptr;
    Value *next = nullptr, *limit = nullptr;
    int64_t step = 0;
};

int64_t stepOf(Value *next, PHINode *phi, const DataLayout &layout) {
    if (auto *sum = dyn_cast<BinaryOperator>(next)) {
        auto *step = dyn_cast<ConstantInt>(sum->getOperand(1));
        bool fits = sum->getOpcode() == Instruction::Add && sum->getOperand(0) == phi && step;
        return fits && step->getBitWidth() <= 64 ? step->getSExtValue() : 0;
    }
    auto *address = dyn_cast<GetElementPtrInst>(next);
    if (!address || address->getPointerOperand() != phi)
        return 0;
    APInt offset(layout.getIndexTypeSizeInBits(address->getType()), 0);
    return address->accumulateConstantOffset(layout, offset) ? offset.getSExtValue() : 0;
}

// Whether the counter is at the limit when the distance is covered the first time. Steps that are a power of two divide
// the range of values, and so do not jump over the limit even where the counter wraps around; others only meet a limit that they
// jump over after wrapping around, perhaps several times, which those that may not wrap around never do.
bool neverJumpsOver(const Value *next, int64_t step) {
    if (isPowerOf2_64(step > 0 ? step : -uint64_t(step)))
        return true;
    if (auto *address = dyn_cast<GetElementPtrInst>(next))
        return address->isInBounds();
    auto *sum = cast<BinaryOperator>(next);
    return sum->hasNoSignedWrap() || (step > 0 && sum->hasNoUnsignedWrap());
}

Affine affineOf(const Loop &loop) {
    const DataLayout &layout = loop.getHeader()->getModule()->getDataLayout();
    BasicBlock *latch = loop.getLoopLatch();
    auto *branch = dyn_cast<BranchInst>(latch->getTerminator());
    if (loop.getExitingBlock() != latch || !branch || !branch->isConditional())
        return {};
    auto *compare = dyn_cast<ICmpInst>(branch->getCondition());
    if (!compare || !compare->isEquality())
        return {};
    bool leavesIfEqual = (compare->getPredicate() == ICmpInst::ICMP_EQ) == (branch->getSuccessor(1) == loop.getHeader());
    for (unsigned side : {0, 1})
        for (PHINode &phi : loop.getHeader()->phis()) {
            Value *next = compare->getOperand(side), *limit = compare->getOperand(1 - side);
            if (!leavesIfEqual || phi.getIncomingValueForBlock(latch) != next || !loop.isLoopInvariant(limit))
                continue;
            if (int64_t step = stepOf(next, &phi, layout); step && neverJumpsOver(next, step))
                return {&phi, next, limit, step};
        }
    return {};
}

using poise::Noise;
using poise::Target;

class Site {
  public:
    Site(Noise &noise, Function &function, Loop &loop)
        : noise(noise), function(function), loop(loop), builder(function.getContext()), header(loop.getHeader()),
          latch(loop.getLoopLatch()), before(loop.getLoopPreheader()), affine(affineOf(loop)) {
        loop.getUniqueExitBlocks(exits);
        for (PHINode &phi : header->phis())
            heads.push_back(&phi);
        site = new GlobalVariable(noise.module, ArrayType::get(noise.word, 8), false, GlobalValue::PrivateLinkage, nullptr,
                                  "poise.site");
    }

    // Puts the choice beside the loop, and gives the function that holds the clone; null where it cannot be extracted.
    Function *build() {
        copy(map, ".noise");
        for (BasicBlock *original : loop.blocks())
            region.push_back(cloned(original));
        enter = block("noise.enter");
        BranchInst::Create(cloned(header), enter);
        region.insert(region.begin(), enter);
        choose();
        if (affine.phi)
            chunkByLimit();
        else
            chunkByCount();
        DominatorTree tree(function);
        CodeExtractorAnalysisCache cache(function);
        CodeExtractor extractor(region, &tree, false, nullptr, nullptr, nullptr, false, false, nullptr, "noise");
        Function *extracted = extractor.isEligible() ? extractor.extractCodeRegion(cache) : nullptr;
        if (!extracted) {
            undo();
            return nullptr;
        }
        cast<CallInst>(extracted->user_back())->setCalledOperand(chosen);
        return extracted;
    }

    BasicBlock *cloned(BasicBlock *block) { return cast<BasicBlock>(map[block]); }

    GlobalVariable *site;
    // From the loop's values to those of the copy that runs where the runtime declines.
    ValueToValueMapTy declined;

  private:
    Value *cloned(Value *value) {
        auto found = map.find(value);
        return found == map.end() ? value : static_cast<Value *>(found->second);
    }

    BasicBlock *block(const char *name) { return BasicBlock::Create(function.getContext(), name, &function); }

    FunctionCallee callee(const char *name, Type *result, ArrayRef<Type *> parameters) {
        auto declared = noise.module.getOrInsertFunction(name, FunctionType::get(result, parameters, false));
        cast<Function>(declared.getCallee())->addFnAttr(Attribute::NoUnwind);
        return declared;
    }

    void copy(ValueToValueMapTy &into, const char *suffix) {
        SmallVector<BasicBlock *, 16> copies;
        for (BasicBlock *original : loop.blocks()) {
            into[original] = CloneBasicBlock(original, into, suffix, &function);
            copies.push_back(cast<BasicBlock>(into[original]));
        }
        remapInstructionsInBlocks(copies, into);
    }

    // A copy that runs where the runtime wants no variant: entering the loop itself at a second place would change what
    // the compiler makes of it.
    void decline() {
        copy(declined, ".declined");
        auto mapped = [&](Value *value) {
            auto found = declined.find(value);
            return found == declined.end() ? value : static_cast<Value *>(found->second);
        };
        for (unsigned index = 0; index < heads.size(); index++) {
            auto *head = cast<PHINode>(mapped(heads[index]));
            int incoming = head->getBasicBlockIndex(before);
            head->setIncomingValue(incoming, states[index]);
            head->setIncomingBlock(incoming, ask);
        }
        for (BasicBlock *exit : exits)
            for (PHINode &phi : exit->phis())
                for (unsigned index = 0, all = phi.getNumIncomingValues(); index < all; index++)
                    if (loop.contains(phi.getIncomingBlock(index)))
                        phi.addIncoming(mapped(phi.getIncomingValue(index)),
                                        cast<BasicBlock>(mapped(phi.getIncomingBlock(index))));
    }

    // The block that asks the runtime; the loop's state comes to it from before the loop and from where a chunk ends.
    void choose() {
        ask = block("noise.choose");
        builder.SetInsertPoint(ask);
        for (PHINode *head : heads) {
            PHINode *state = builder.CreatePHI(head->getType(), 2);
            state->addIncoming(head->getIncomingValueForBlock(before), before);
            states.push_back(state);
        }
        Value *left = affine.phi ? remaining() : nullptr;
        Value *choice = left ? begin("poise_noise_begin_of", {site, left}) : begin("poise_noise_begin", {site});
        chosen = builder.CreateExtractValue(choice, 0);
        budget = builder.CreateExtractValue(choice, 1);
        if (left)
            limitChunk(left);
        decline();
        builder.SetInsertPoint(ask);
        builder.CreateCondBr(builder.CreateIsNull(chosen), cast<BasicBlock>(declined[header]), enter);
        for (unsigned index = 0; index < heads.size(); index++) {
            auto *copy = cast<PHINode>(cloned(heads[index]));
            int incoming = copy->getBasicBlockIndex(before);
            copy->setIncomingValue(incoming, states[index]);
            copy->setIncomingBlock(incoming, enter);
        }
        Instruction *end = before->getTerminator();
        builder.SetInsertPoint(end);
        Value *asked = builder.CreateLoad(noise.word, noise.field(builder, poise::State));
        Value *anybody = builder.CreateICmpNE(asked, ConstantInt::get(noise.word, 0));
        builder.CreateCondBr(anybody, ask, header, MDBuilder(function.getContext()).createBranchWeights(1, 1 << 20));
        end->eraseFromParent();
    }

    unsigned place(const PHINode *head) const { return std::distance(heads.begin(), find(heads, head)); }

    Value *asWord(Value *value) {
        return value->getType()->isPointerTy() ? builder.CreatePtrToInt(value, noise.word)
                                               : builder.CreateSExtOrTrunc(value, noise.word);
    }

    Value *begin(const char *name, ArrayRef<Value *> arguments) {
        SmallVector<Type *, 2> types;
        for (Value *argument : arguments)
            types.push_back(argument->getType());
        return builder.CreateCall(callee(name, StructType::get(noise.pointer, noise.word), types), arguments);
    }

    // The iterations that are still to come, from the state.
    Value *remaining() {
        Value *state = states[place(affine.phi)];
        Value *distance = affine.step > 0 ? builder.CreateSub(asWord(affine.limit), asWord(state))
                                          : builder.CreateSub(asWord(state), asWord(affine.limit));
        unsigned bits = state->getType()->isPointerTy() ? 64 : state->getType()->getIntegerBitWidth();
        if (bits < 64) // Narrow counters wrap around in their own width.
            distance = builder.CreateAnd(distance, ConstantInt::get(noise.word, (uint64_t(1) << bits) - 1));
        uint64_t step = affine.step > 0 ? affine.step : -uint64_t(affine.step);
        return builder.CreateUDiv(distance, ConstantInt::get(noise.word, step));
    }

    // The chunk's iterations and its limit, from the state and the budget.
    void limitChunk(Value *left) {
        Value *state = states[place(affine.phi)];
        chunk = builder.CreateBinaryIntrinsic(Intrinsic::umin, left, budget);
        Value *advance = builder.CreateMul(chunk, ConstantInt::getSigned(noise.word, affine.step));
        if (state->getType()->isPointerTy())
            limit = builder.CreateGEP(builder.getInt8Ty(), state, advance);
        else
            limit = builder.CreateAdd(state, builder.CreateTrunc(advance, state->getType()));
    }

    // A phi in `to` of what is known at the ends of the clone's edges that leave to `exit`.
    PHINode *leaving(PHINode &phi, BasicBlock *to) {
        PHINode *out = PHINode::Create(phi.getType(), phi.getNumIncomingValues(), "", to);
        for (unsigned index = 0; index < phi.getNumIncomingValues(); index++)
            if (loop.contains(phi.getIncomingBlock(index)))
                out->addIncoming(cloned(phi.getIncomingValue(index)), cloned(phi.getIncomingBlock(index)));
        return out;
    }

    void end(Value *iterations, Value *done) {
        auto ended = callee("poise_noise_end", Type::getVoidTy(function.getContext()), {noise.word, noise.word});
        builder.CreateCall(ended, {iterations, done});
    }

    // The region's last block on the way to `to`, and the block behind the region.
    std::pair<BasicBlock *, BasicBlock *> way() {
        BasicBlock *out = block("noise.out"), *behind = block("noise.behind");
        region.push_back(out);
        return {out, behind};
    }

    void chunkByLimit() {
        auto [out, behind] = way();
        BasicBlock *exit = exits[0], *last = cloned(latch);
        std::vector<std::pair<PHINode *, PHINode *>> results;
        for (PHINode &phi : exit->phis())
            results.push_back({&phi, leaving(phi, out)});
        std::vector<PHINode *> nexts;
        for (PHINode *head : heads) {
            PHINode *next = PHINode::Create(head->getType(), 1, "", out);
            next->addIncoming(cloned(head->getIncomingValueForBlock(latch)), last);
            nexts.push_back(next);
        }
        BranchInst::Create(behind, out);
        Instruction *branch = last->getTerminator();
        builder.SetInsertPoint(branch);
        Value *reached = builder.CreateICmpEQ(cloned(affine.next), limit);
        auto *replaced = builder.CreateCondBr(reached, out, cloned(header));
        replaced->copyMetadata(*branch);
        replaced->setMetadata(LLVMContext::MD_prof, nullptr);
        branch->eraseFromParent();
        builder.SetInsertPoint(behind);
        Value *where = nexts[place(affine.phi)];
        Value *done = builder.CreateICmpEQ(where, affine.limit);
        end(chunk, builder.CreateZExt(done, noise.word));
        builder.CreateCondBr(done, exit, ask);
        for (auto &[phi, result] : results)
            phi->addIncoming(result, behind);
        for (unsigned index = 0; index < states.size(); index++)
            states[index]->addIncoming(nexts[index], behind);
    }

    void chunkByCount() {
        BasicBlock *first = cloned(header), *last = cloned(latch), *tick = block("noise.tick");
        PHINode *counted = PHINode::Create(noise.word, 2, "", poise::place(first->begin()));
        builder.SetInsertPoint(tick);
        Value *next = builder.CreateAdd(counted, ConstantInt::get(noise.word, 1));
        counted->addIncoming(ConstantInt::get(noise.word, 0), enter);
        auto [spent, resume] = way();
        builder.CreateCondBr(builder.CreateICmpEQ(next, budget), spent, first);
        last->getTerminator()->replaceSuccessorWith(first, tick);
        first->replacePhiUsesWith(last, tick);
        counted->addIncoming(next, tick);
        region.push_back(tick);
        for (unsigned index = 0; index < states.size(); index++) {
            PHINode *state = PHINode::Create(heads[index]->getType(), 1, "", spent);
            state->addIncoming(cloned(heads[index]->getIncomingValueForBlock(latch)), tick);
            states[index]->addIncoming(state, resume);
        }
        BranchInst::Create(resume, spent);
        builder.SetInsertPoint(resume);
        end(budget, ConstantInt::get(noise.word, 0));
        builder.CreateBr(ask);
        for (BasicBlock *exit : exits)
            leaveTo(exit, counted);
    }

    void leaveTo(BasicBlock *exit, Value *counted) {
        auto [out, behind] = way();
        for (PHINode &phi : exit->phis())
            phi.addIncoming(leaving(phi, out), behind);
        SmallVector<BasicBlock *, 4> from;
        for (BasicBlock *predecessor : predecessors(exit))
            if (loop.contains(predecessor))
                from.push_back(cloned(predecessor));
        PHINode *count = PHINode::Create(noise.word, from.size(), "", out);
        for (BasicBlock *predecessor : from) {
            count->addIncoming(counted, predecessor);
            predecessor->getTerminator()->replaceSuccessorWith(exit, out);
        }
        BranchInst::Create(behind, out);
        builder.SetInsertPoint(behind);
        end(builder.CreateAdd(count, ConstantInt::get(noise.word, 1)), ConstantInt::get(noise.word, 1));
        builder.CreateBr(exit);
    }

    // Leaves the loop as it was, and the rest unreachable.
    void undo() {
        Instruction *end = before->getTerminator();
        BranchInst::Create(header, before);
        end->eraseFromParent();
        EliminateUnreachableBlocks(function);
    }

    Noise &noise;
    Function &function;
    Loop &loop;
    IRBuilder<> builder;
    BasicBlock *header, *latch, *before;
    Affine affine;
    SmallVector<BasicBlock *, 4> exits;
    ValueToValueMapTy map;
    SmallVector<BasicBlock *, 16> region;
    BasicBlock *enter = nullptr, *ask = nullptr;
    SmallVector<PHINode *, 8> heads, states;
    Value *chosen = nullptr, *budget = nullptr, *chunk = nullptr, *limit = nullptr;
};

// Copies the function that has the clone, once per variant, and lists the copies.
class Variants {
  public:
    Variants(Noise &noise, Function &base, std::string prefix, unsigned id)
        : noise(noise), base(base), prefix(std::move(prefix)) {
        base.setName(this->prefix + std::to_string(id) + ".plain");
        list(base, UINT32_MAX, UINT32_MAX, 0);
    }

    // `isInside`: the clone is the loop around this one, so that somebody may ask how often this one iterates, and for how long.
    void add(BasicBlock *header, unsigned number, unsigned id, bool isInside) {
        std::string inner = prefix + std::to_string(id) + ".";
        if (isInside) {
            copy(header, inner + "count", [&](BasicBlock *at) { poise::count(noise, at); return true; }, number, UINT32_MAX, 0);
            copy(header, inner + "time", [&](BasicBlock *at) { return poise::time(noise, at); }, number, UINT32_MAX, 1);
        }
        const poise_variant *variants;
        size_t total = poise_noise_variants(&variants);
        for (size_t index = 0; index < total; index++) {
            poise_variant variant = variants[index];
            std::string name = inner + poise_noise_mode(variant.mode) + "." + std::to_string(variant.k);
            copy(header, name, [&](BasicBlock *at) { return poise::inject(noise, at, variant); }, number, variant.mode,
                 variant.k);
        }
    }

    std::vector<Constant *> listed;

  private:
    template <class Change>
    void copy(BasicBlock *header, const std::string &name, Change change, unsigned number, unsigned mode, unsigned k) {
        ValueToValueMapTy map;
        Function *variant = CloneFunction(&base, map);
        variant->setName(name);
        if (change(cast<BasicBlock>(map[header])))
            list(*variant, number, mode, k);
        else
            variant->eraseFromParent();
    }

    void list(Function &function, unsigned number, unsigned mode, unsigned k) {
        auto integer = [&](unsigned value) { return ConstantInt::get(noise.half, value); };
        listed.push_back(ConstantStruct::getAnon({&function, integer(number), integer(mode), integer(k), integer(0)}));
    }

    Noise &noise;
    Function &base;
    std::string prefix;
};

void describe(Noise &noise, GlobalVariable *site, const Variants &variants, unsigned level) {
    Constant *zero = ConstantInt::get(noise.word, 0);
    Constant *table = noise.table(variants.listed, variants.listed[0]->getType());
    std::vector<Constant *> fields{table, ConstantInt::get(noise.word, variants.listed.size()),
                                   ConstantInt::get(noise.word, level), zero, zero, zero, zero, zero};
    auto *described = new GlobalVariable(noise.module, ConstantStruct::getAnon(fields)->getType(), false,
                                         GlobalValue::PrivateLinkage, ConstantStruct::getAnon(fields), "poise.site");
    site->replaceAllUsesWith(described);
    site->eraseFromParent();
    noise.sites.push_back(described);
}

} // namespace

std::string poise::build(Noise &noise, StringRef owner, BasicBlock *header, ArrayRef<unsigned> inner,
                         MutableArrayRef<Target> targets, ArrayRef<unsigned> numbers, unsigned level) {
    Function &function = *header->getParent();
    DominatorTree tree(function);
    LoopInfo loops(tree);
    AssumptionCache assumptions(function);
    Loop *loop = loops.getLoopFor(header);
    if (!loop || loop->getHeader() != header)
        return "it is no loop of its own any more";
    simplifyLoop(loop, &tree, &loops, nullptr, &assumptions, nullptr, false);
    if (!loop->isLoopSimplifyForm() || loop->getHeader() != header)
        return "it cannot be brought into a simple form";
    formLCSSARecursively(*loop, tree, &loops, nullptr);
    Site site(noise, function, *loop);
    Function *base = site.build();
    if (!base) {
        site.site->eraseFromParent();
        return "it cannot be taken out of its function";
    }
    // One for all loops of the function, whose name others can tell the variants by: `solve.noise.0.fp_add64.8`.
    Variants variants(noise, *base, owner.str() + (level ? ".noise.outer." : ".noise."), targets[inner[0]].id);
    for (unsigned target : inner)
        variants.add(site.cloned(targets[target].header), numbers[target], targets[target].id, level > 0);
    ::describe(noise, site.site, variants, level);
    // In the loop around the targets, nothing is chosen any more unless the runtime declined to choose for all of it.
    for (unsigned target : inner)
        targets[target].header = cast<BasicBlock>(site.declined[targets[target].header]);
    return "";
}
