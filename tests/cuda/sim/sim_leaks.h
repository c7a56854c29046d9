/* What a process has made and not yet given back, by kind: with GPULOT_CUDASIM_LEAKS the end of the process
 * looks. */
#ifndef GPULOT_SIM_LEAKS_H
#define GPULOT_SIM_LEAKS_H

typedef enum sim_kind {
    SIM_STREAM,
    SIM_EVENT,
    SIM_POOL,
    SIM_PINNED,
    SIM_LT_HANDLE,
    SIM_LT_LAYOUT,
    SIM_LT_OPERATION,
    SIM_LT_PREFERENCE,
    SIM_NVML,
    SIM_KIND_COUNT
} sim_kind;

#ifdef __cplusplus
extern "C" {
#endif

/* +1 where one is made, -1 where it is given back. Any thread. */
void sim_count(sim_kind kind, int change);

/* Says what is left, one line each, and returns how many kinds there are. `context` is 0 where a context is
 * broken: then what lives in one cannot be given back and does not count. */
int sim_report_left(int context);

#ifdef __cplusplus
}
#endif
#endif
