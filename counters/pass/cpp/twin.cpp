// A function's twin: the copy of it that has the noise. The function itself stays as it was compiled, but that it goes on in
// its twin where the process asks for noise:
//
//   function ── nobody asks ──▶ what the compiler made of it        (one load and one branch more than without noise)
//      └──▶ its twin, with the same arguments and the same stack
//
// Loops that are compiled next to code that chooses among variants would be given other registers.

#include "noise.hpp"

#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/Transforms/Utils/Cloning.h"

using namespace llvm;

namespace {

bool standsForItself(const Instruction &instruction) {
    auto *call = dyn_cast<CallBase>(&instruction);
    if (!call)
        return isa<IndirectBrInst>(instruction) || isa<CallBrInst>(instruction);
    auto *assembly = dyn_cast<InlineAsm>(call->getCalledOperand());
    return call->cannotDuplicate() || (assembly && StringRef(assembly->getAsmString()).contains(':'));
}

bool canHaveTwin(const Function &function) {
    if (function.isVarArg() || function.isPresplitCoroutine())
        return false;
    // LLVM (16 and 19, x86-64) writes such an argument over the return address, where it is to be passed on in its place.
    for (const Argument &argument : function.args())
        if (argument.hasPassPointeeByValueCopyAttr())
            return false;
    for (const BasicBlock &block : function) {
        if (block.hasAddressTaken())
            return false;
        for (const Instruction &instruction : block)
            if (standsForItself(instruction))
                return false;
    }
    return true;
}

// Where `function` begins: on to `twin` if the process asks for noise.
void goOn(poise::Noise &noise, Function &function, Function &twin) {
    LLVMContext &context = function.getContext();
    BasicBlock *first = &function.getEntryBlock();
    BasicBlock *ask = BasicBlock::Create(context, "noise.ask", &function, first);
    BasicBlock *there = BasicBlock::Create(context, "noise.there", &function);
    IRBuilder<> builder(there);
    std::vector<Value *> arguments;
    std::vector<AttributeSet> attributes;
    AttributeList own = function.getAttributes();
    for (Argument &argument : function.args()) {
        arguments.push_back(&argument);
        attributes.push_back(own.getParamAttrs(argument.getArgNo()));
    }
    CallInst *call = builder.CreateCall(&twin, arguments);
    call->setAttributes(AttributeList::get(context, AttributeSet(), own.getRetAttrs(), attributes));
    call->setCallingConv(function.getCallingConv());
    call->setTailCallKind(CallInst::TCK_MustTail);
    if (DISubprogram *program = function.getSubprogram())
        call->setDebugLoc(DILocation::get(context, program->getScopeLine(), 0, program));
    function.getReturnType()->isVoidTy() ? builder.CreateRetVoid() : builder.CreateRet(call);

    builder.SetInsertPoint(ask);
    // Variables of the stack have their place in the frame if they are made in the first block.
    for (Instruction &instruction : make_early_inc_range(*first))
        if (auto *variable = dyn_cast<AllocaInst>(&instruction); variable && isa<ConstantInt>(variable->getArraySize()))
            variable->moveBefore(*ask, ask->end());
    Value *asked = builder.CreateICmpNE(builder.CreateLoad(noise.word, noise.asked), ConstantInt::get(noise.word, 0));
    builder.CreateCondBr(asked, there, first, MDBuilder(context).createBranchWeights(1, 1 << 20));
}

} // namespace

Function *poise::twinOf(Noise &noise, Function &function, ValueToValueMapTy &map) {
    if (!canHaveTwin(function))
        return nullptr;
    Function *twin = CloneFunction(&function, map);
    twin->setName(function.getName() + ".noise");
    twin->setLinkage(GlobalValue::InternalLinkage);
    twin->setVisibility(GlobalValue::DefaultVisibility);
    twin->setDLLStorageClass(GlobalValue::DefaultStorageClass);
    twin->setDSOLocal(true);
    goOn(noise, function, *twin);
    return twin;
}
