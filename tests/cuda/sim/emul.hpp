// Kernel bodies on the CPU: what a body may use of CUDA, and the registration that lets a launch find it.
//
//     #include "emul.hpp"
//     #include "gpu/cuda/kernels_body.cuh"
//     SIM_KERNEL(lot_k_gelu_float32);
//
// Each CUDA thread runs on a stack of its own, which a finished thread hands on, so that a kernel without
// barriers costs little more than calls. The threads of a block run in order from 0, each up to its next
// barrier or shuffle: a missing barrier shows on every run. Not modelled: inline PTX, tensor-core and
// asynchronous-copy intrinsics, cooperative groups, dynamic shared memory, races within a warp.
#ifndef GPULOT_SIM_EMUL_HPP
#define GPULOT_SIM_EMUL_HPP

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <tuple>
#include <type_traits>
#include <utility>

#include "sim_kernel.h"
#include "sim_memory.h"

#undef __global__
#undef __device__
#undef __host__
#undef __shared__
#undef __forceinline__
#undef __launch_bounds__
#define __global__
#define __device__
#define __host__
#define __shared__      static thread_local
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)

namespace sim
{

// The thread that runs and the block that it is part of.
struct position {
    uint3 thread;
    uint3 block;
    dim3 block_size;
    dim3 grid_size;
    unsigned index; // of the thread in its block
};

extern thread_local position here;

// Runs a kernel over the whole grid; false where a barrier was not reached by all threads of a block.
bool run_grid(const sim_launch &launch, void (*body)(void *), void *argument);

void block_barrier();
void warp_barrier();

// One value of at most 8 bytes per thread of the block, for shuffles.
void *exchange_slot(unsigned thread);
unsigned threads_in_block();

// The value that lane `source` of this warp handed in; the own one where there is no such lane.
template <typename T> T shuffle(T value, unsigned source)
{
    static_assert(sizeof(T) <= 8, "a shuffle moves at most 8 bytes");
    const unsigned other = (here.index & ~31u) + source;
    T result = value;

    std::memcpy(exchange_slot(here.index), &value, sizeof value);
    warp_barrier();
    if (other < threads_in_block())
        std::memcpy(&result, exchange_slot(other), sizeof result);
    warp_barrier();
    return result;
}

// ---- from a function to a sim_kernel ----

template <typename T> T reach(T value)
{
    if constexpr (std::is_pointer_v<T>)
        return static_cast<T>(sim_memory_alias(value));
    else
        return value;
}

template <typename T> void note(const T &value, sim_footprint *footprint)
{
    if constexpr (std::is_pointer_v<T>) {
        footprint->bytes += sim_memory_extent(value);
        if (footprint->output == nullptr && !std::is_const_v<std::remove_pointer_t<T>>)
            footprint->output = value;
    }
}

template <typename F> class kernel;

template <typename... A> class kernel<void (*)(A...)> : public sim_kernel
{
  public:
    kernel(const char *kernel_name, void (*kernel_function)(A...)) : function(kernel_function)
    {
        name = kernel_name;
        pack = pack_arguments;
        run = run_packed;
        sim_kernel_add(this);
    }

  private:
    struct packed {
        void (*function)(A...);
        sim_launch launch;
        std::tuple<A...> arguments;
    };

    void (*function)(A...);

    template <size_t... I> static std::tuple<A...> copy(void **from, std::index_sequence<I...>)
    {
        return std::tuple<A...>(*static_cast<A *>(from[I])...);
    }

    static void *pack_arguments(const sim_kernel *base, const sim_launch *launch, void **from,
                                sim_footprint *footprint)
    {
        static_assert(std::is_trivially_destructible_v<packed>, "it is freed as plain memory");
        void *memory = std::malloc(sizeof(packed));

        if (memory == nullptr)
            std::abort();
        packed *made = new (memory) packed{static_cast<const kernel *>(base)->function, *launch,
                                           copy(from, std::index_sequence_for<A...>())};
        std::apply([&](const auto &...value) { (note(value, footprint), ...); }, made->arguments);
        return made;
    }

    static void call(void *argument)
    {
        packed *work = static_cast<packed *>(argument);

        std::apply([&](auto... value) { work->function(reach(value)...); }, work->arguments);
    }

    static void run_packed(void *argument)
    {
        packed *work = static_cast<packed *>(argument);

        if (!run_grid(work->launch, call, work)) {
            sim_lock();
            sim_device_break(work->launch.device, cudaErrorLaunchTimeout);
            sim_unlock();
        }
    }
};

} // namespace sim

#define SIM_KERNEL(name) static sim::kernel<decltype(&name)> sim_kernel_##name(#name, &name)

// ---- what bodies use ----

#define threadIdx       (sim::here.thread)
#define blockIdx        (sim::here.block)
#define blockDim        (sim::here.block_size)
#define gridDim         (sim::here.grid_size)
#define warpSize        32
#define __syncthreads() sim::block_barrier()
#define __syncwarp(...) sim::warp_barrier()

template <typename T> T __shfl_sync(unsigned, T value, int source, int = 32)
{
    return sim::shuffle(value, static_cast<unsigned>(source) & 31u);
}

template <typename T> T __shfl_down_sync(unsigned, T value, unsigned delta, int = 32)
{
    const unsigned lane = sim::here.index & 31u;

    return sim::shuffle(value, lane + delta < 32 ? lane + delta : lane);
}

template <typename T> T __shfl_up_sync(unsigned, T value, unsigned delta, int = 32)
{
    const unsigned lane = sim::here.index & 31u;

    return sim::shuffle(value, lane >= delta ? lane - delta : lane);
}

template <typename T> T __shfl_xor_sync(unsigned, T value, int mask, int = 32)
{
    return sim::shuffle(value, (sim::here.index & 31u) ^ static_cast<unsigned>(mask));
}

// One thread runs at a time, so plain operations are atomic.
template <typename T> T atomicAdd(T *address, T value)
{
    const T old = *address;

    *address = old + value;
    return old;
}

template <typename T> T atomicOr(T *address, T value)
{
    const T old = *address;

    *address = old | value;
    return old;
}

template <typename T> T __ldg(const T *address)
{
    return *address;
}

#endif
