// The noise itself, and what a module tells the runtime of its loops.

#include "noise.hpp"

#include "llvm/IR/Dominators.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"
#include "llvm/Transforms/Utils/PromoteMemToReg.h"

using namespace llvm;

namespace poise {

Noise::Noise(Module &module)
    : module(module), word(Type::getInt64Ty(module.getContext())), half(Type::getInt32Ty(module.getContext())),
      pointer(PointerType::get(module.getContext(), 0)), thread(module.getNamedGlobal("poise_noise")) {
    if (!thread)
        thread = new GlobalVariable(module, ArrayType::get(word, 2), false, GlobalValue::ExternalLinkage, nullptr,
                                    "poise_noise", nullptr, GlobalValue::InitialExecTLSModel);
    asked = new GlobalVariable(module, word, false, GlobalValue::PrivateLinkage, ConstantInt::get(word, 0), "poise.asked");
}

Value *Noise::field(IRBuilder<> &builder, unsigned index) {
    return builder.CreateConstInBoundsGEP1_64(word, builder.CreateThreadLocalAddress(thread), index);
}

Constant *Noise::text(StringRef content) {
    Constant *data = ConstantDataArray::getString(module.getContext(), content);
    return table({data}, data->getType());
}

Constant *Noise::table(ArrayRef<Constant *> items, Type *type) {
    Constant *data = ConstantArray::get(ArrayType::get(type, items.size()), items);
    return new GlobalVariable(module, data->getType(), true, GlobalValue::PrivateLinkage, data, "poise.noise");
}

unsigned Noise::describe(const Function &function, const Target &target) {
    auto integer = [&](unsigned value) { return ConstantInt::get(half, value); };
    Constant *fields[] = {text(function.getName()), text(target.file),   text(target.refusal),
                          integer(target.line),     integer(target.id), integer(0), integer(0)};
    loops.push_back(ConstantStruct::getAnon(fields));
    return loops.size() - 1;
}

void Noise::enrol() {
    std::vector<Constant *> modes;
    for (size_t mode = 0; mode < poise_noise_modes(); mode++)
        modes.push_back(text(poise_noise_mode(mode)));
    auto list = [&](ArrayRef<Constant *> items) -> Constant * {
        return items.empty() ? ConstantPointerNull::get(pointer) : table(items, items[0]->getType());
    };
    auto length = [&](size_t items) { return ConstantInt::get(word, items); };
    Constant *fields[] = {ConstantPointerNull::get(pointer), list(modes), length(modes.size()), list(loops),
                          length(loops.size()), list(sites), length(sites.size()), asked};
    Constant *data = ConstantStruct::getAnon(fields);
    auto *described = new GlobalVariable(module, data->getType(), false, GlobalValue::PrivateLinkage, data, "poise.module");
    auto *nothing = FunctionType::get(Type::getVoidTy(module.getContext()), false);
    auto *start = Function::Create(nothing, GlobalValue::InternalLinkage, "poise.noise.enrol", module);
    IRBuilder<> builder(BasicBlock::Create(module.getContext(), "", start));
    auto enrol = module.getOrInsertFunction("poise_noise_enrol", builder.getVoidTy(), pointer);
    builder.CreateCall(enrol, {described});
    builder.CreateRetVoid();
    appendToGlobalCtors(module, start, 65535);
}

void count(Noise &noise, BasicBlock *header) {
    IRBuilder<> builder(header, header->getFirstInsertionPt());
    Value *field = noise.field(builder, Count);
    Value *before = builder.CreateLoad(noise.word, field);
    builder.CreateStore(builder.CreateAdd(before, ConstantInt::get(noise.word, 1)), field);
}

bool time(Noise &noise, BasicBlock *header) {
    DominatorTree tree(*header->getParent());
    LoopInfo loops(tree);
    Loop *loop = loops.getLoopFor(header);
    if (!loop || loop->getHeader() != header || !loop->isLoopSimplifyForm())
        return false;
    auto tell = [&](const char *name, BasicBlock::iterator at) {
        IRBuilder<> builder(at->getParent(), at);
        auto told = noise.module.getOrInsertFunction(name, FunctionType::get(builder.getVoidTy(), false));
        cast<Function>(told.getCallee())->addFnAttr(Attribute::NoUnwind);
        builder.CreateCall(told);
    };
    SmallVector<BasicBlock *, 4> exits;
    loop->getUniqueExitBlocks(exits);
    tell("poise_noise_inside", loop->getLoopPreheader()->getTerminator()->getIterator());
    for (BasicBlock *exit : exits)
        tell("poise_noise_outside", exit->getFirstInsertionPt());
    return true;
}

// Where the loop's iteration loads from: a pseudo-random line of the thread's buffer, by a linear congruential generator
// (multiplier and increment of Knuth's MMIX) whose state lives in a register.
static Value *randomOffset(Noise &noise, Function &function, IRBuilder<> &builder, Value *&buffer) {
    IRBuilder<> first(&function.getEntryBlock(), function.getEntryBlock().getFirstInsertionPt());
    AllocaInst *state = first.CreateAlloca(noise.word);
    auto get = noise.module.getOrInsertFunction("poise_noise_buffer", noise.pointer);
    Value *stream = first.CreateCall(get);
    buffer = first.CreateLoad(noise.pointer, stream);
    Value *mask = first.CreateLoad(noise.word, first.CreateConstInBoundsGEP1_64(noise.word, stream, 1));
    Value *seed = first.CreateConstInBoundsGEP1_64(noise.word, stream, 2);
    auto next = [&](IRBuilder<> &at, Value *value) {
        Value *product = at.CreateMul(value, ConstantInt::get(noise.word, 6364136223846793005));
        return at.CreateAdd(product, ConstantInt::get(noise.word, 1442695040888963407));
    };
    Value *seeded = next(first, first.CreateLoad(noise.word, seed));
    first.CreateStore(seeded, seed);
    first.CreateStore(seeded, state);
    Value *drawn = next(builder, builder.CreateLoad(noise.word, state));
    builder.CreateStore(drawn, state);
    Value *offset = builder.CreateAnd(builder.CreateLShr(drawn, 32), mask);
    if (!function.hasOptNone()) {
        DominatorTree tree(function);
        PromoteMemToReg({state}, tree);
    }
    return offset;
}

bool inject(Noise &noise, BasicBlock *header, poise_variant variant) {
    Function &function = *header->getParent();
    std::string features = function.getFnAttribute("target-features").getValueAsString().str();
    poise_assembly noisy;
    if (!poise_noise_assembly(variant, noise.module.getTargetTriple().c_str(), features.c_str(), &noisy))
        return false;
    IRBuilder<> builder(header, header->getFirstInsertionPt());
    std::vector<Type *> outputs(noisy.floats, builder.getDoubleTy());
    outputs.insert(outputs.end(), noisy.integers, noise.word);
    std::vector<Value *> inputs;
    std::vector<Type *> types;
    if (noisy.input == 1) {
        Value *buffer = nullptr;
        Value *offset = randomOffset(noise, function, builder, buffer);
        inputs = {buffer, offset};
        types = {noise.pointer, noise.word};
    }
    if (noisy.input == 2) {
        IRBuilder<> first(&function.getEntryBlock(), function.getEntryBlock().getFirstInsertionPt());
        AllocaInst *line = first.CreateAlloca(ArrayType::get(noise.word, 8));
        line->setAlignment(Align(64));
        inputs = {line};
        types = {noise.pointer};
    }
    Type *result = outputs.empty()       ? builder.getVoidTy()
                   : outputs.size() == 1 ? outputs[0]
                                         : static_cast<Type *>(StructType::get(function.getContext(), outputs));
    auto *assembly = InlineAsm::get(FunctionType::get(result, types, false), StringRef(noisy.text, noisy.text_length),
                                    StringRef(noisy.constraints, noisy.constraints_length), true);
    builder.CreateCall(assembly, inputs);
    return true;
}

} // namespace poise
