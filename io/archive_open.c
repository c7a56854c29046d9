#include "io/archive_open.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "io/archive_header.h"
#include "io/h5.h"
#include "io/seal.h"

#define SIGNATURE "\x89HDF\r\n\x1a\n"

/* True where the file begins as HDF5, at the start or behind a user block. */
static bool has_signature(int descriptor)
{
    char read[8];

    for (off_t at = 0; at <= 8192; at = at == 0 ? 512 : 2 * at)
        if (pread(descriptor, read, sizeof read, at) == sizeof read &&
            memcmp(read, SIGNATURE, sizeof read) == 0)
            return true;
    return false;
}

/* Bytes that the file has where it is whole, by its superblock (HDF5 File Format Specification, section
 * II.A); 0 where that lies elsewhere or has other sizes than this program's. */
static uint64_t whole_size(int descriptor)
{
    unsigned char block[52];
    size_t at;
    uint64_t size = 0;

    if (pread(descriptor, block, sizeof block, 0) != (ssize_t)sizeof block ||
        memcmp(block, SIGNATURE, 8) != 0)
        return 0;
    if (block[8] <= 1 && block[13] == 8)
        at = block[8] == 0 ? 40 : 44;
    else if (block[8] > 1 && block[8] <= 3 && block[9] == 8)
        at = 28;
    else
        return 0;
    for (size_t i = 8; i-- > 0;)
        size = size << 8 | block[at + i];
    return size;
}

static lot_status check_seal(int file, const char *path, bool *sealed, lot_error *error)
{
    lot_seal seal = LOT_SEAL_NONE;
    const lot_status status = lot_seal_check(file, path, &seal, error);

    if (status != LOT_OK)
        return status;
    *sealed = seal == LOT_SEAL_WHOLE;
    if (seal == LOT_SEAL_BROKEN)
        return lot_error_set(error, LOT_DAMAGED, "archive", 0,
                             "%s is damaged: its bytes are not those that were written", path);
    return LOT_OK;
}

/* What this program writes beside archives, by what such a file begins with, with what is done with it. */
static const struct {
    const char *begins;
    const char *is;
} others[] = {
    {"{\"schema\":\"gpulot.baseline\"", "a baseline, not an archive: compare takes it as what was BEFORE"},
    {"{\"schema\": \"gpulot.manifest\"", "a manifest, not an archive: manifest verify takes its folder"},
    {"{\"head\":", "a rank's progress, not an archive: recover makes one of its folder"},
};

/* What a file without HDF5's signature is. */
static const char *other_file(int descriptor)
{
    char start[64] = "";

    if (pread(descriptor, start, sizeof start - 1, 0) > 0)
        for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
            if (strncmp(start, others[i].begins, strlen(others[i].begins)) == 0)
                return others[i].is;
    return "not an HDF5 file";
}

/* What is no regular file. */
static const char *no_file(mode_t mode)
{
    return S_ISDIR(mode) ? "a folder, not an archive: recover makes one of what an interrupted run left there"
                         : "not a file";
}

/* Refuses what HDF5 would report in riddles, wait for or not survive: no file, a folder, a pipe, another
 * format, damage. */
static lot_status check_file(const char *path, bool *sealed, lot_error *error)
{
    const int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    const int reason = errno;
    struct stat info = {0};
    lot_status status = LOT_OK;

    if (descriptor < 0)
        return lot_error_errno(error, LOT_INPUT, "open", reason, "%s cannot be opened", path);
    if (fstat(descriptor, &info) != 0 || !S_ISREG(info.st_mode))
        status = lot_error_set(error, LOT_INPUT, "open", 0, "%s is %s", path, no_file(info.st_mode));
    else if (!has_signature(descriptor))
        status = lot_error_set(error, LOT_SCHEMA, "archive", 0, "%s is %s", path, other_file(descriptor));
    else if ((uint64_t)info.st_size < whole_size(descriptor))
        status = lot_error_set(error, LOT_DAMAGED, "archive", 0,
                               "%s is damaged: its end is missing, it has %lld of %llu bytes", path,
                               (long long)info.st_size, (unsigned long long)whole_size(descriptor));
    else
        status = check_seal(descriptor, path, sealed, error);
    (void)close(descriptor);
    return status;
}

lot_status lot_archive_open(const char *path, hid_t *h5, lot_error *error)
{
    lot_status status;
    hid_t list, opened;

    lot_h5_quiet();
    list = lot_h5_access_list();
    opened = list < 0 ? list : H5Fopen(path, H5F_ACC_RDONLY, list);
    if (opened < 0)
        return lot_h5_error(error, LOT_DAMAGED, "H5Fopen", path);
    (void)H5Pclose(list);
    status = lot_archive_header_check(path, opened, error);
    if (status != LOT_OK) {
        (void)H5Fclose(opened);
        return status;
    }
    *h5 = opened;
    return LOT_OK;
}

#define TRIAL_ENDED       100
#define TRIAL_SECONDS     600 /* for disks that are slow, */
#define TRIAL_CPU_SECONDS 5   /* and for HDF5 that goes round in circles; one more for each MiB */

/* No longer than whole files take, nor than whoever asked lives; whoever asked may have blocked signals. */
static void limit_trial(const char *path, pid_t asker)
{
    const struct rlimit no_core = {0, 0};
    struct stat info = {0};
    struct rlimit time;
    sigset_t none;

    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    (void)setrlimit(RLIMIT_CORE, &no_core);
    (void)alarm(TRIAL_SECONDS);
    if (stat(path, &info) == 0 && getrlimit(RLIMIT_CPU, &time) == 0) {
        const rlim_t wanted = TRIAL_CPU_SECONDS + (rlim_t)info.st_size / (1 << 20);

        if (wanted < time.rlim_cur)
            time.rlim_cur = wanted;
        (void)setrlimit(RLIMIT_CPU, &time);
    }
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != asker)
        _exit(1);
}

/* Reads everything once and ends: what comes of it does not matter, only that it ends. */
static void try_all(const char *path, pid_t asker, void (*read_all)(const char *path))
{
    static const int deadly[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGALRM, SIGXCPU};
    const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);

    for (size_t i = 0; i < sizeof deadly / sizeof deadly[0]; i++)
        (void)signal(deadly[i], SIG_DFL); /* whatever the caller had set up for itself */
    if (nowhere >= 0)
        (void)dup2(nowhere, STDERR_FILENO);
    limit_trial(path, asker);
    read_all(path);
    _exit(TRIAL_ENDED);
}

/* Tries it in a process of its own. */
static lot_status try_apart(const char *path, void (*read_all)(const char *path), lot_error *error)
{
    const pid_t asker = getpid();
    const pid_t child = fork();
    int end = 0;

    if (child == 0)
        try_all(path, asker, read_all);
    if (child < 0)
        return lot_error_errno(error, LOT_IO, "fork", errno, "%s cannot be tried", path);
    while (waitpid(child, &end, 0) < 0 && errno == EINTR)
        ;
    if (!WIFEXITED(end) || WEXITSTATUS(end) != TRIAL_ENDED)
        return lot_error_set(error, LOT_DAMAGED, "archive", 0,
                             "%s is damaged: HDF5 does not survive reading it", path);
    return LOT_OK;
}

lot_status lot_archive_try(const char *path, void (*read_all)(const char *path), bool *sealed,
                           lot_error *error)
{
    const struct sigaction heard = {.sa_handler = SIG_DFL};
    struct sigaction before;
    lot_status status = check_file(path, sealed, error);

    if (status != LOT_OK || *sealed)
        return status;
    /* Who ignores it, as one may be started, is not told how a child ended. */
    (void)sigaction(SIGCHLD, &heard, &before);
    status = try_apart(path, read_all, error);
    (void)sigaction(SIGCHLD, &before, NULL);
    return status;
}
