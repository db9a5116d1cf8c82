// Where LLVMs differ in what several files of ours use.
#pragma once

#include "llvm/IR/BasicBlock.h"

namespace poise {

// A place to insert before: LLVM takes iterators since 18, and nothing else in later ones.
#if LLVM_VERSION_MAJOR >= 18
inline llvm::BasicBlock::iterator place(llvm::BasicBlock::iterator at) { return at; }
#else
inline llvm::Instruction *place(llvm::BasicBlock::iterator at) { return &*at; }
#endif

} // namespace poise
