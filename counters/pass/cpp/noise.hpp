// What the parts of noise injection share: the targets of a module, and the text of the noise, which Rust gives.
#pragma once

#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/ValueMapper.h"

#include <string>
#include <vector>

// What is injected, by ../src/noise.rs. Texts live until the next call on the same thread.
struct poise_assembly {
    const char *text;
    size_t text_length;
    const char *constraints;
    size_t constraints_length;
    uint32_t floats;   // outputs of type double that nothing reads
    uint32_t integers; // outputs of type i64 that nothing reads
    uint32_t input;    // 0 none, 1 a buffer and an offset into it, 2 a line on the stack
};
struct poise_variant {
    uint32_t mode;
    uint32_t k;
};
struct poise_loop {
    const char *function;
    const char *file;
    uint32_t line;
    uint32_t level; // 0 innermost, 1 around innermost, …
    uint32_t marked;
};

extern "C" {
// Whether the environment asks for noise at all, and code for this machine may have it.
bool poise_noise_wanted(const char *triple);
// Whether the noise has one mode and quantity, to be injected where the loop stands; then that is the only variant.
bool poise_noise_is_fixed();
// Whether this loop is a target.
bool poise_noise_is_target(const poise_loop *loop);
// The variants other than the one without noise.
size_t poise_noise_variants(const poise_variant **variants);
size_t poise_noise_modes();
const char *poise_noise_mode(size_t mode);
// False where the instruction set lacks the mode.
bool poise_noise_assembly(poise_variant variant, const char *triple, const char *features, poise_assembly *assembly);
}

namespace poise {

// Words of the thread's `poise_noise`: what the runtime keeps of it, null where nobody asks for noise, and a count.
enum Word : unsigned { State = 0, Count = 1 };

// A loop as a run's profile names it.
struct Target {
    llvm::BasicBlock *header;
    std::string file;
    unsigned line;
    unsigned id;
    std::string refusal;
};

// What is known of a module while it is being changed.
struct Noise {
    explicit Noise(llvm::Module &module);

    llvm::Module &module;
    llvm::IntegerType *word;
    llvm::IntegerType *half;
    llvm::PointerType *pointer;
    llvm::GlobalVariable *thread;
    // What the runtime sets where the process asks for noise.
    llvm::GlobalVariable *asked;
    std::vector<llvm::Constant *> loops;
    std::vector<llvm::Constant *> sites;

    llvm::Constant *text(llvm::StringRef content);
    llvm::Constant *table(llvm::ArrayRef<llvm::Constant *> items, llvm::Type *type);
    llvm::Value *field(llvm::IRBuilder<> &builder, unsigned index);
    // Describes a loop to the runtime; gives its number in the module.
    unsigned describe(const llvm::Function &function, const Target &target);
    // Describes everything to the runtime when the program starts.
    void enrol();
};

// Injects noise where `header` begins; false where the instruction set lacks the mode.
bool inject(Noise &noise, llvm::BasicBlock *header, poise_variant variant);
// Adds one to the thread's count of iterations where `header` begins.
void count(Noise &noise, llvm::BasicBlock *header);
// Tells the runtime when the loop with this header begins and when it has ended; false where it has no such places of its own.
bool time(Noise &noise, llvm::BasicBlock *header);

// Makes variants of the loop with this header, with noise in the loops `inner` (indices into `targets`), and code that
// chooses among them; the targets' headers are those of their last copies then. `owner` names the source's function.
// Gives why not, or nothing.
std::string build(Noise &noise, llvm::StringRef owner, llvm::BasicBlock *header, llvm::ArrayRef<unsigned> inner,
                  llvm::MutableArrayRef<Target> targets, llvm::ArrayRef<unsigned> numbers, unsigned level);

// Makes a copy of the function, which runs in its place where the process asks for noise; `map` leads from the function's
// blocks to the copy's. Null where the function cannot be copied.
llvm::Function *twinOf(Noise &noise, llvm::Function &function, llvm::ValueToValueMapTy &map);

} // namespace poise
