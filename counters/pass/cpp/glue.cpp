// What LLVM's C interface lacks: registration, analyses and memory effects. No policy; that is in ../src, in Rust.

#include "versions.hpp"

#include "llvm/Analysis/BlockFrequencyInfo.h"
#include "llvm/Analysis/BranchProbabilityInfo.h"
#include "llvm/Analysis/CFG.h"
#include "llvm/Analysis/GlobalsModRef.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"

using namespace llvm;

// In Rust. Returns whether it changed the module.
extern "C" bool poise_instrument(LLVMModuleRef module, FunctionAnalysisManager *analyses);

// A function as debug information describes it.
struct poise_source {
    const char *name;
    size_t name_length;
    const char *file;
    size_t file_length;
    const char *folder;
    size_t folder_length;
    uint32_t line;
};

namespace {

struct CountPass : PassInfoMixin<CountPass> {
    PreservedAnalyses run(Module &module, ModuleAnalysisManager &analyses) {
        auto &functions = analyses.getResult<FunctionAnalysisManagerModuleProxy>(module).getManager();
        if (!poise_instrument(wrap(&module), &functions))
            return PreservedAnalyses::all();
        // GlobalsAA outlives none(): it must be abandoned by name, or it goes on to believe that functions which now
        // count do not write memory.
        auto preserved = PreservedAnalyses::none();
        preserved.abandon<GlobalsAA>();
        return preserved;
    }

    // Also where a function is marked optnone.
    static bool isRequired() { return true; }
};

} // namespace

extern "C" {

void poise_register(PassBuilder &builder) {
#if LLVM_VERSION_MAJOR >= 20
    builder.registerOptimizerEarlyEPCallback(
        [](ModulePassManager &passes, OptimizationLevel, ThinOrFullLTOPhase) { passes.addPass(CountPass()); });
#else
    builder.registerOptimizerEarlyEPCallback(
        [](ModulePassManager &passes, OptimizationLevel) { passes.addPass(CountPass()); });
#endif
    builder.registerPipelineParsingCallback(
        [](StringRef name, ModulePassManager &passes, ArrayRef<PassBuilder::PipelineElement>) {
            if (name != "poise-count")
                return false;
            passes.addPass(CountPass());
            return true;
        });
}

// Whether control can come back to a block that it left.
bool poise_has_cycle(LLVMValueRef function) {
    SmallVector<std::pair<const BasicBlock *, const BasicBlock *>, 8> back;
    FindFunctionBackedges(*unwrap<Function>(function), back);
    return !back.empty();
}

// Estimated executions of the edge from `block` to its successor number `successor`, relative to others in the function.
uint64_t poise_edge_frequency(FunctionAnalysisManager *analyses, LLVMBasicBlockRef block, unsigned successor) {
    BasicBlock *from = unwrap(block);
    Function &function = *from->getParent();
    auto frequency = analyses->getResult<BlockFrequencyAnalysis>(function).getBlockFreq(from);
    auto share = analyses->getResult<BranchProbabilityAnalysis>(function).getEdgeProbability(from, successor);
    return (frequency * share).getFrequency();
}

// Whether a function that this module only declares is one of the C or C++ library's that LLVM knows.
bool poise_is_library(FunctionAnalysisManager *analyses, LLVMValueRef function) {
    auto &declared = *unwrap<Function>(function);
    LibFunc known;
    // The analysis wants a function with a body for its target; the answer is the same for all of them.
    for (Function &any : *declared.getParent())
        if (!any.isDeclaration()) {
            auto &library = analyses->getResult<TargetLibraryAnalysis>(any);
            return library.getLibFunc(declared, known) && library.has(known);
        }
    return false;
}

// Whether the instruction calls a function, inline assembly and intrinsics aside.
bool poise_is_call(LLVMValueRef instruction) {
    auto *call = dyn_cast<CallBase>(unwrap(instruction));
    return call && !isa<IntrinsicInst>(call) && !call->isInlineAsm();
}

// Whether control may leave the instruction for good: by exit, an exception, longjmp, or by never coming back.
bool poise_may_not_return(LLVMValueRef instruction) {
    auto *call = dyn_cast<CallBase>(unwrap(instruction));
    if (!call || call->isInlineAsm())
        return false;
    if (isa<IntrinsicInst>(call))
        return call->doesNotReturn();
    return !call->hasFnAttr(Attribute::WillReturn) || !call->doesNotThrow();
}

bool poise_is_musttail(LLVMValueRef instruction) {
    auto *call = dyn_cast<CallInst>(unwrap(instruction));
    return call && call->isMustTailCall();
}

bool poise_returns_twice(LLVMValueRef instruction) {
    auto *call = dyn_cast<CallInst>(unwrap(instruction));
    return call && call->hasFnAttr(Attribute::ReturnsTwice);
}

// Where `left`, which chooses between nothing and what an accumulator holds, chooses nothing, `inlined` is told of that.
void poise_tell(LLVMValueRef left, LLVMValueRef site, LLVMValueRef inlined) {
    auto *choice = unwrap<SelectInst>(left);
    auto *callee = unwrap<Function>(inlined);
    MDNode *seldom = MDBuilder(choice->getContext()).createBranchWeights(1, 2000);
    Instruction *then = SplitBlockAndInsertIfThen(choice->getCondition(), poise::place(choice->getIterator()), false, seldom);
    IRBuilder<> builder(then);
    builder.CreateCall(callee->getFunctionType(), callee, {unwrap(site), choice->getFalseValue()});
}

// A phi without incoming values at the start of a block: before what is told there of variables, too, which LLVM 19 has beside the instructions.
LLVMValueRef poise_phi(LLVMBasicBlockRef block, LLVMTypeRef type) {
    BasicBlock *start = unwrap(block);
    IRBuilder<> builder(start, start->begin());
    return wrap(builder.CreatePHI(unwrap(type), 0));
}

// Before `at`, `back` is called with `here` if `strays` holds.
void poise_go_back(LLVMValueRef strays, LLVMValueRef at, LLVMValueRef here, LLVMValueRef back) {
    auto *condition = unwrap<Instruction>(strays);
    auto *callee = unwrap<Function>(back);
    MDNode *seldom = MDBuilder(condition->getContext()).createBranchWeights(1, 2000);
    Instruction *then = SplitBlockAndInsertIfThen(condition, poise::place(unwrap<Instruction>(at)->getIterator()), false, seldom);
    IRBuilder<> builder(then);
    builder.CreateCall(callee->getFunctionType(), callee, {unwrap(here)});
}

// Lets a function that counts, or may call one that does, write memory.
void poise_widen_function(LLVMValueRef function) {
    auto *widened = unwrap<Function>(function);
    widened->removeFnAttr(Attribute::Memory);
    widened->removeFnAttr(Attribute::Speculatable);
}

// The same for one call.
void poise_widen_call(LLVMValueRef instruction) {
    auto *call = unwrap<CallBase>(instruction);
    call->removeFnAttr(Attribute::Memory);
    call->removeFnAttr(Attribute::Speculatable);
}

// The functions that the instruction was inlined from, outermost first, without the one that it is in now. Gives their
// number, and at most `room` of them.
size_t poise_inlined_from(LLVMValueRef instruction, LLVMMetadataRef *functions, size_t room) {
    SmallVector<DISubprogram *, 8> chain;
    const DILocation *location = unwrap<Instruction>(instruction)->getDebugLoc();
    for (; location && location->getInlinedAt(); location = location->getInlinedAt())
        chain.push_back(location->getScope()->getSubprogram());
    for (size_t index = 0; index < chain.size() && index < room; index++)
        functions[index] = wrap(chain[chain.size() - 1 - index]);
    return chain.size();
}

bool poise_has_location(LLVMValueRef instruction) { return bool(unwrap<Instruction>(instruction)->getDebugLoc()); }

// The first instruction of a block before which code may be inserted, that does something.
LLVMValueRef poise_first(LLVMBasicBlockRef block) {
    auto at = unwrap(block)->getFirstInsertionPt();
    while (isa<DbgInfoIntrinsic>(*at))
        ++at;
    return wrap(&*at);
}

// Name and source of a function that debug information describes. The texts live as long as the context.
void poise_describe(LLVMMetadataRef function, poise_source *source) {
    auto *described = unwrap<DISubprogram>(function);
    StringRef name = described->getLinkageName().empty() ? described->getName() : described->getLinkageName();
    StringRef file = described->getFilename(), folder = described->getDirectory();
    *source = {name.data(), name.size(), file.data(), file.size(), folder.data(), folder.size(), described->getLine()};
}
}
