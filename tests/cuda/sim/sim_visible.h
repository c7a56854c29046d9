/* CUDA_VISIBLE_DEVICES as the CUDA programming guide describes it. */
#ifndef GPULOT_SIM_VISIBLE_H
#define GPULOT_SIM_VISIBLE_H

#include "sim_config.h"

/* Fills `visible` with indices into config->units and returns how many. `list` is the variable's text or NULL
 * where it is not set: then all devices, or the first MIG slice alone where any GPU is in MIG mode. The list
 * ends at its first item that names nothing or repeats one; a process can see one MIG slice only. */
int sim_visible_list(const sim_config *config, const char *list, int visible[SIM_MAX_UNITS]);

#endif
