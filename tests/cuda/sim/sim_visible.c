#include "sim_visible.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The unit of "3": the whole GPU, or its first slice in MIG mode; -1 where there is none. */
static int by_index(const sim_config *config, const char *item)
{
    int64_t index;

    if (item[0] < '0' || item[0] > '9' || !sim_parse_integer(item, &index))
        return -1;
    for (int i = 0; i < config->unit_count; i++)
        if (config->units[i].gpu == index)
            return i;
    return -1;
}

/* The one unit whose UUID begins with the item; -1 where there is none or more than one. */
static int by_uuid(const sim_config *config, const char *item)
{
    char text[SIM_UUID_TEXT];
    int found = -1;

    for (int i = 0; i < config->unit_count; i++) {
        sim_config_uuid_text(config->units[i], text);
        if (strncmp(text, item, strlen(item)) != 0)
            continue;
        if (found >= 0)
            return -1;
        found = i;
    }
    return found;
}

/* The older form "MIG-GPU-<uuid>/<gpu instance>/<compute instance>". */
static int by_instance(const sim_config *config, const char *item)
{
    char text[SIM_UUID_TEXT];
    const size_t length = strcspn(item, "/");
    int instance = -1, compute = -1, used = 0;

    if (sscanf(item + length, "/%d/%d%n", &instance, &compute, &used) != 2 ||
        item[length + (size_t)used] != '\0')
        return -1;
    for (int i = 0; i < config->unit_count; i++) {
        const sim_unit unit = config->units[i];

        sim_config_uuid_text((sim_unit){.gpu = unit.gpu, .slice = -1}, text);
        if (unit.slice >= 0 && strlen(text) == length - 4 && strncmp(item + 4, text, length - 4) == 0 &&
            unit.slice + 1 == instance && compute == 0)
            return i;
    }
    return -1;
}

static int find_unit(const sim_config *config, const char *item)
{
    if (strncmp(item, "MIG-GPU-", 8) == 0)
        return by_instance(config, item);
    if (strncmp(item, "GPU-", 4) == 0 || strncmp(item, "MIG-", 4) == 0)
        return by_uuid(config, item);
    return by_index(config, item);
}

/* A process that sees a MIG slice sees nothing else. */
static int only_slice(const sim_config *config, int count, int visible[])
{
    for (int i = 0; i < count; i++) {
        if (config->units[visible[i]].slice >= 0) {
            visible[0] = visible[i];
            return 1;
        }
    }
    return count;
}

int sim_visible_list(const sim_config *config, const char *list, int visible[SIM_MAX_UNITS])
{
    char item[96];
    int count = 0;

    if (list == NULL) {
        for (int i = 0; i < config->unit_count; i++)
            visible[i] = i;
        return only_slice(config, config->unit_count, visible);
    }
    while (*list != '\0' && count < SIM_MAX_UNITS) {
        const size_t length = strcspn(list, ",");
        int unit = -1;

        if (length > 0 && length < sizeof item) {
            memcpy(item, list, length);
            item[length] = '\0';
            unit = find_unit(config, item);
        }
        for (int i = 0; i < count; i++)
            if (visible[i] == unit)
                unit = -1;
        if (unit < 0)
            break;
        visible[count++] = unit;
        list += length + (list[length] == ',');
    }
    return only_slice(config, count, visible);
}
