/* Preloaded: makes it look as if a real driver were present. */
#include <dlfcn.h>
#include <string.h>
#include <unistd.h>

int access(const char *path, int mode)
{
    int (*next)(const char *, int) = NULL;
    void *symbol = dlsym(RTLD_NEXT, "access");

    if (strcmp(path, "/dev/nvidiactl") == 0)
        return 0;
    memcpy(&next, &symbol, sizeof next);
    return next(path, mode);
}
