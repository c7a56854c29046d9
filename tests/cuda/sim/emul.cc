// The scheduler behind emul.hpp.
#include "emul.hpp"

#include <sys/mman.h>
#include <vector>

#define STACK_BYTES 65536
#define PAGE_BYTES  4096
#define WARP        32

namespace sim
{

thread_local position here;

namespace
{

#if defined(__x86_64__)

// swapcontext() makes two system calls a switch; this one saves what the ABI asks for and nothing else.
extern "C" void gpulot_cudasim_switch(void **save, void *to);
asm(".text\n"
    ".local gpulot_cudasim_switch\n"
    ".type gpulot_cudasim_switch,@function\n"
    "gpulot_cudasim_switch:\n"
    "push %rbp\npush %rbx\npush %r12\npush %r13\npush %r14\npush %r15\n"
    "mov %rsp,(%rdi)\n"
    "mov %rsi,%rsp\n"
    "pop %r15\npop %r14\npop %r13\npop %r12\npop %rbx\npop %rbp\n"
    "ret\n"
    ".size gpulot_cudasim_switch,.-gpulot_cudasim_switch\n");

// A stack on which `entry` begins at the first switch to it: six saved registers, the return address, and an
// empty place, so that entry finds the stack aligned as after a call.
void *fresh_stack(char *top, void (*entry)())
{
    void **at = reinterpret_cast<void **>(top);

    *--at = nullptr;
    *--at = reinterpret_cast<void *>(entry);
    for (int i = 0; i < 6; i++)
        *--at = nullptr;
    return at;
}

#else
#error "the stack switch of the kernel emulation is written for x86-64"
#endif

struct fiber {
    void *stack_pointer;
    char *stack; // nullptr: has not begun, or has ended
    bool ended;
};

// Threads that must all arrive before any goes on.
struct meeting {
    unsigned members;
    unsigned arrived;
    unsigned round;

    void open_if_all()
    {
        if (members > 0 && arrived == members) {
            arrived = 0;
            round++;
        }
    }
};

struct scheduler {
    void *main_pointer;
    fiber *current;
    std::vector<fiber> fibers;
    std::vector<char *> spare_stacks;
    meeting block;
    meeting warps[1024 / WARP];
    uint64_t slots[1024];
    unsigned threads;
    unsigned long steps; // arrivals and ends: no step in a whole round means that nobody can go on
    void (*body)(void *);
    void *argument;
};

thread_local scheduler state;

char *new_stack()
{
    void *memory =
        mmap(nullptr, STACK_BYTES + PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED || mprotect(memory, PAGE_BYTES, PROT_NONE) != 0)
        std::abort();
    return static_cast<char *>(memory);
}

void yield()
{
    scheduler *s = &state;
    const position mine = here;
    fiber *self = s->current;

    gpulot_cudasim_switch(&self->stack_pointer, s->main_pointer);
    here = mine;
    s->current = self;
}

void meet(meeting *where)
{
    const unsigned round = where->round;

    where->arrived++;
    state.steps++;
    where->open_if_all();
    while (where->round == round)
        yield();
}

void entry()
{
    scheduler *s = &state;

    s->body(s->argument);
    s->current->ended = true;
    s->steps++;
    s->block.members--; // a thread that has returned is waited for by nobody
    s->block.open_if_all();
    s->warps[here.index / WARP].members--;
    s->warps[here.index / WARP].open_if_all();
    gpulot_cudasim_switch(&s->current->stack_pointer, s->main_pointer);
}

void resume(scheduler *s, unsigned index, const sim_launch &launch)
{
    fiber *thread = &s->fibers[index];

    if (thread->stack == nullptr) {
        if (s->spare_stacks.empty())
            s->spare_stacks.push_back(new_stack());
        thread->stack = s->spare_stacks.back();
        s->spare_stacks.pop_back();
        thread->stack_pointer = fresh_stack(thread->stack + PAGE_BYTES + STACK_BYTES, entry);
    }
    here.index = index;
    here.thread = uint3{index % launch.block.x, index / launch.block.x % launch.block.y,
                        index / launch.block.x / launch.block.y};
    s->current = thread;
    gpulot_cudasim_switch(&s->main_pointer, thread->stack_pointer);
    if (thread->ended) {
        s->spare_stacks.push_back(thread->stack);
        thread->stack = nullptr;
    }
}

void begin_block(scheduler *s)
{
    s->fibers.assign(s->threads, fiber{nullptr, nullptr, false});
    s->block = meeting{s->threads, 0, 0};
    for (unsigned w = 0; w < 1024 / WARP; w++) {
        const unsigned before = w * WARP;
        const unsigned members = s->threads > before ? s->threads - before : 0;

        s->warps[w] = meeting{members < WARP ? members : WARP, 0, 0};
    }
}

bool run_block(scheduler *s, const sim_launch &launch)
{
    begin_block(s);
    while (s->block.members > 0) {
        const unsigned long before = s->steps;

        for (unsigned i = 0; i < s->threads; i++)
            if (!s->fibers[i].ended)
                resume(s, i, launch);
        if (s->steps == before) {
            sim_say("a barrier is not reached by every thread of block (%u,%u,%u)", here.block.x,
                    here.block.y, here.block.z);
            return false;
        }
    }
    return true;
}

} // namespace

void block_barrier()
{
    meet(&state.block);
}

void warp_barrier()
{
    meet(&state.warps[here.index / WARP]);
}

void *exchange_slot(unsigned thread)
{
    return &state.slots[thread];
}

unsigned threads_in_block()
{
    return state.threads;
}

bool run_grid(const sim_launch &launch, void (*body)(void *), void *argument)
{
    scheduler *s = &state;

    s->threads = launch.block.x * launch.block.y * launch.block.z;
    s->body = body;
    s->argument = argument;
    here.block_size = launch.block;
    here.grid_size = launch.grid;
    for (unsigned z = 0; z < launch.grid.z; z++) {
        for (unsigned y = 0; y < launch.grid.y; y++) {
            for (unsigned x = 0; x < launch.grid.x; x++) {
                here.block = uint3{x, y, z};
                if (!run_block(s, launch))
                    return false;
            }
        }
    }
    return true;
}

} // namespace sim
