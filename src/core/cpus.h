/* The CPUs that a thread may run on. */
#ifndef GPULOT_CORE_CPUS_H
#define GPULOT_CORE_CPUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Room for machines with many CPUs: Linux refuses to fill a mask that is smaller than its own. */
#define LOT_CPUS_MOST 8192

typedef struct lot_cpus {
    uint64_t words[LOT_CPUS_MOST / 64]; /* CPU n is bit n % 64 of word n / 64 */
} lot_cpus;

/* Those of the calling thread; false with errno where the system does not tell. */
bool lot_cpus_read(lot_cpus *cpus);

/* Lets the calling thread run on these and no others; false with errno where the system refuses. */
bool lot_cpus_apply(const lot_cpus *cpus);

/* How many of them the calling thread may use at one time: those that it may run on, or fewer where a control
 * group gives a container no more of their time; 1 at least. `root` is put before every path: "" in use, a
 * folder of recorded files in tests. */
int lot_cpus_usable(const char *root);

bool lot_cpus_have(const lot_cpus *cpus, int cpu);
int lot_cpus_count(const lot_cpus *cpus);

/* Those of `text`, a list as Linux writes it ("0-3,8"); none where it is no such list. */
void lot_cpus_parse(const char *text, lot_cpus *cpus);

/* Keeps of *cpus what `others` have, too. */
void lot_cpus_keep(lot_cpus *cpus, const lot_cpus *others);

/* The list of them, which ends in "..." where it does not fit into list[size]. */
void lot_cpus_print(const lot_cpus *cpus, char *list, size_t size);

#endif
