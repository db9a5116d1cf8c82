// A function in two parts: its body, which calls itself, and a shell with the function's name, which everybody else calls:
//
//   function ── enter ──▶ body ⟲ ── leave ──▶
//
// What is in which part and when it is worth it is said in ../src/recursion.rs.

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PassManager.h"

using namespace llvm;

namespace {

// What unwinding goes on with, where the function itself stops it on its way; null where it does not.
Type *resumed(const Function &function) {
    for (const BasicBlock &block : function)
        if (auto *resume = dyn_cast<ResumeInst>(block.getTerminator()))
            return resume->getValue()->getType();
    return nullptr;
}

// Arguments that are no values which can be handed on.
bool canHandOn(const Argument &argument) {
    return !argument.hasInAllocaAttr() && !argument.hasPreallocatedAttr() && !argument.hasSwiftErrorAttr();
}

// Attributes of functions that want a hook of another tool at their entry or exit. The body keeps them, which every activation passes once.
const char *const HOOKS[] = {
    "function-instrument",
    "instrument-function-entry",
    "instrument-function-entry-inlined",
    "instrument-function-exit",
    "instrument-function-exit-inlined",
    "fentry-call",
    "patchable-function",
    "patchable-function-entry",
    "patchable-function-prefix",
    "xray-instruction-threshold",
    "xray-log-args",
};

} // namespace

extern "C" {

// Whether the function's calls of itself reach its own code, and that can be moved.
bool poise_can_divide(LLVMValueRef value) {
    auto &function = *unwrap<Function>(value);
    if (function.isInterposable() || function.isVarArg() || function.hasFnAttribute(Attribute::StrictFP) ||
        function.hasFnAttribute(Attribute::ReturnsTwice) || !all_of(function.args(), canHandOn))
        return false;
    return none_of(function, [](const BasicBlock &block) { return block.hasAddressTaken(); });
}

// Whether an instruction is a call of exactly this function.
bool poise_calls(LLVMValueRef instruction, LLVMValueRef function) {
    auto *call = dyn_cast<CallBase>(unwrap(instruction));
    auto *called = unwrap<Function>(function);
    return call && call->getCalledOperand() == called && call->getFunctionType() == called->getFunctionType() &&
           call->getCallingConv() == called->getCallingConv();
}

// Whether what is called by this name is the function of this module.
bool poise_is_exact(LLVMValueRef function) { return !unwrap<Function>(function)->isInterposable(); }

void poise_call_instead(LLVMValueRef instruction, LLVMValueRef callee) {
    unwrap<CallBase>(instruction)->setCalledOperand(unwrap(callee));
}

// Gives a function's name to a new function, its shell, and gives that: it enters `region`, calls the function, which is the body from now on, and
// leaves. The code stays where it is, and all that describes it, as the locations of parameters.
LLVMValueRef poise_divide(LLVMValueRef value, LLVMValueRef region, LLVMValueRef enter, LLVMValueRef leave) {
    auto &body = *unwrap<Function>(value);
    LLVMContext &context = body.getContext();
    Type *unwinding = resumed(body);

    auto &shell = *Function::Create(body.getFunctionType(), body.getLinkage(), body.getAddressSpace());
    body.getParent()->getFunctionList().insert(body.getIterator(), &shell);
    shell.copyAttributesFrom(&body);
    shell.setComdat(body.getComdat());
    for (const char *hook : HOOKS)
        shell.removeFnAttr(hook);
    SmallVector<std::pair<unsigned, MDNode *>, 2> metadata;
    body.getAllMetadata(metadata);
    for (auto &[kind, node] : metadata)
        if (kind != LLVMContext::MD_dbg)
            shell.addMetadata(kind, *node);
    shell.takeName(&body);
    body.replaceAllUsesWith(&shell);
    body.setName(shell.getName() + ".poise");
    body.setLinkage(GlobalValue::InternalLinkage);
    // In no group of which the linker keeps one copy: where it keeps another one, this shell may have been inlined and still need its body.
    body.setComdat(nullptr);
    // In front of a function's code is what its address is for.
    body.setPrefixData(nullptr);

    auto *entered = cast<Function>(unwrap(enter)), *left = cast<Function>(unwrap(leave));
    IRBuilder<> builder(BasicBlock::Create(context, "", &shell));
    Value *token = builder.CreateCall(entered->getFunctionType(), entered, {unwrap(region)});
    std::vector<Value *> arguments;
    std::vector<AttributeSet> attributes;
    AttributeList own = shell.getAttributes();
    for (Argument &argument : shell.args()) {
        arguments.push_back(&argument);
        attributes.push_back(own.getParamAttrs(argument.getArgNo()));
    }
    CallBase *call;
    if (unwinding) {
        BasicBlock *back = BasicBlock::Create(context, "", &shell), *stopped = BasicBlock::Create(context, "", &shell);
        call = builder.CreateInvoke(&body, back, stopped, arguments);
        builder.SetInsertPoint(stopped);
        LandingPadInst *pad = builder.CreateLandingPad(unwinding, 0);
        pad->setCleanup(true);
        builder.CreateCall(left->getFunctionType(), left, {token});
        builder.CreateResume(pad);
        builder.SetInsertPoint(back);
    } else {
        call = builder.CreateCall(&body, arguments);
    }
    call->setAttributes(AttributeList::get(context, AttributeSet(), own.getRetAttrs(), attributes));
    call->setCallingConv(shell.getCallingConv());
    builder.CreateCall(left->getFunctionType(), left, {token});
    shell.getReturnType()->isVoidTy() ? builder.CreateRetVoid() : builder.CreateRet(call);
    return wrap(&shell);
}
}
