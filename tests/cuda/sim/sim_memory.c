#include "sim_memory.h"

#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE_BYTES    4096ull
#define ALIGN_BYTES   256ull
#define WINDOW_BYTES  (1ull << 40)
#define WINDOW_LEAST  (1ull << 28)
#define FIRST_ADDRESS (2ull << 20)
#define FILL_MOST     (1ull << 20)
#define FRESH         0xA5

static sim_device *open_devices[SIM_MAX_UNITS]; /* for the signal handler, which can take no lock */
static size_t open_count;
static struct sigaction former_handler;
static _Thread_local sigjmp_buf guard;
static _Thread_local bool guarded;

/* ---- faults ---- */

/* Inside simulated work an access fault ends the work; on the host it is the product's mistake, and says so.
 */
static void on_fault(int signal_number, siginfo_t *info, void *context)
{
    const char *address = info->si_addr;
    char line[160];

    (void)context;
    if (guarded)
        siglongjmp(guard, 1);
    for (size_t i = 0; i < open_count; i++) {
        const sim_window *window = &open_devices[i]->window;

        if (address >= window->base && address < window->base + window->size) {
            const int length =
                snprintf(line, sizeof line, "gpulot-cudasim: host code touched memory of device %d at %p\n",
                         open_devices[i]->unit.gpu, (const void *)address);

            if (write(STDERR_FILENO, line, (size_t)length) < 0)
                break;
        }
    }
    (void)sigaction(signal_number, &former_handler,
                    NULL); /* the access faults again, under the former handler */
}

static void install_handler(void)
{
    static bool installed;
    struct sigaction action;

    if (installed)
        return;
    installed = true;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK;
    (void)sigaction(SIGSEGV, &action, &former_handler);
}

bool sim_memory_guarded(void (*run)(void *argument), void *argument)
{
    if (sigsetjmp(guard, 1) != 0) {
        guarded = false;
        return false;
    }
    guarded = true;
    run(argument);
    guarded = false;
    return true;
}

/* ---- windows and blocks ---- */

static char *reserve(size_t size)
{
    void *area = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    return area == MAP_FAILED ? NULL : area;
}

/* As large as is to be had: a memory checker leaves less room. */
static bool reserve_window(sim_window *window, size_t size)
{
    window->base = reserve(size);
    window->alias = reserve(size);
    window->size = size;
    if (window->base != NULL && window->alias != NULL)
        return true;
    if (window->base != NULL)
        (void)munmap(window->base, size);
    if (window->alias != NULL)
        (void)munmap(window->alias, size);
    return false;
}

void sim_memory_open(sim_device *device)
{
    size_t size = WINDOW_BYTES;

    while (!reserve_window(&device->window, size)) {
        size /= 2;
        if (size < WINDOW_LEAST) {
            sim_say("no address space for a device");
            abort();
        }
    }
    device->window.used = FIRST_ADDRESS;
    open_devices[open_count++] = device;
    install_handler();
}

static size_t round_up(size_t value, size_t step)
{
    return (value + step - 1) / step * step;
}

static bool add_block(sim_window *window, sim_block block)
{
    if (window->block_count == window->block_capacity) {
        const size_t capacity = window->block_capacity > 0 ? 2 * window->block_capacity : 64;
        sim_block *blocks = realloc(window->blocks, capacity * sizeof *blocks);

        if (blocks == NULL)
            return false;
        window->blocks = blocks;
        window->block_capacity = capacity;
    }
    window->blocks[window->block_count++] = block;
    return true;
}

char *sim_memory_new(sim_device *device, size_t size, size_t charged, sim_pool *pool)
{
    sim_window *window = &device->window;
    const size_t body = round_up(size, ALIGN_BYTES);
    const size_t pages = round_up(body, PAGE_BYTES);
    const size_t offset = window->used + pages - body; /* the end lies against the guard page */
    char *alias;

    if (pages < size || window->size - window->used < pages + PAGE_BYTES)
        return NULL;
    if (mprotect(window->alias + window->used, pages, PROT_READ | PROT_WRITE) != 0)
        return NULL;
    if (!add_block(window, (sim_block){.address = window->base + offset,
                                       .size = size,
                                       .charged = charged,
                                       .pool = pool,
                                       .live = true}))
        return NULL;
    window->used += pages + PAGE_BYTES;
    alias = window->alias + offset;
    memset(alias, FRESH, body < FILL_MOST ? body : FILL_MOST);
    memset(alias + size, FRESH, body - size);
    return window->base + offset;
}

sim_block *sim_memory_find(sim_device *device, const void *pointer)
{
    sim_window *window = &device->window;
    const char *address = pointer;
    size_t low = 0, high = window->block_count;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        sim_block *block = &window->blocks[middle];

        if (address < block->address)
            high = middle;
        else if (address >= block->address + block->size)
            low = middle + 1;
        else
            return block;
    }
    return NULL;
}

void sim_memory_release(sim_device *device, sim_block *block)
{
    char *alias = sim_memory_alias(block->address);
    char *first = alias - ((uintptr_t)alias & (PAGE_BYTES - 1));
    const size_t body = round_up(block->size, ALIGN_BYTES);

    for (size_t i = block->size; i < body; i++) {
        if ((unsigned char)alias[i] != FRESH) {
            sim_say("device %d: %zu bytes at %p were written past the end", device->unit.gpu, block->size,
                    (void *)block->address);
            sim_device_break(device, cudaErrorIllegalAddress);
            break;
        }
    }
    block->live = false;
    (void)mmap(first, (size_t)(alias - first) + body, PROT_NONE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

/* ---- looking at addresses ---- */

sim_device *sim_memory_owner(const void *pointer)
{
    const char *address = pointer;

    for (size_t i = 0; i < open_count; i++) {
        const sim_window *window = &open_devices[i]->window;

        if (address >= window->base && address < window->base + window->size)
            return open_devices[i];
    }
    return NULL;
}

void *sim_memory_alias(const void *pointer)
{
    const sim_device *device = sim_memory_owner(pointer);

    if (device == NULL)
        return (void *)(uintptr_t)pointer;
    return device->window.alias + ((const char *)pointer - device->window.base);
}

/* Why the range is not usable, or NULL where it is. */
static const char *complaint(sim_device *device, const void *pointer, size_t length)
{
    const sim_block *block = sim_memory_find(device, pointer);

    if (block == NULL)
        return "in no allocation of this device";
    if (!block->live)
        return "in a freed allocation";
    if ((size_t)((const char *)pointer - block->address) + length > block->size)
        return "past the end of their allocation";
    return NULL;
}

bool sim_memory_inside(const void *pointer, size_t length)
{
    sim_device *device = sim_memory_owner(pointer);
    const sim_block *block;

    if (device == NULL)
        return true;
    block = sim_memory_find(device, pointer);
    return block != NULL && !block->freeing && complaint(device, pointer, length) == NULL;
}

size_t sim_memory_extent(const void *pointer)
{
    sim_device *device = sim_memory_owner(pointer);
    const sim_block *block = device != NULL ? sim_memory_find(device, pointer) : NULL;

    return block != NULL ? block->size - (size_t)((const char *)pointer - block->address) : 0;
}

void *sim_memory_check(sim_device *device, const void *pointer, size_t length, const char *what)
{
    const char *why;

    sim_lock();
    why = complaint(device, pointer, length);
    if (why != NULL) {
        sim_say("device %d: %s: %zu bytes at %p are %s", device->unit.gpu, what, length, pointer, why);
        sim_device_break(device, cudaErrorIllegalAddress);
    }
    sim_unlock();
    return why == NULL ? sim_memory_alias(pointer) : NULL;
}

int sim_memory_report_leaks(const sim_device *device)
{
    int found = 0;

    for (size_t i = 0; i < device->window.block_count; i++) {
        const sim_block *block = &device->window.blocks[i];

        if (block->live && !block->freeing) {
            sim_say("device %d: %zu bytes were never freed", device->unit.gpu, block->size);
            found++;
        }
    }
    return found;
}
