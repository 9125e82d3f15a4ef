/* Is loaded between the program and the C library, and makes the calls that change files in one
 * directory fail as they would on a bad disk.
 *
 * Loaded by LD_PRELOAD (Linux). Environment variables:
 *
 *   INTERPOSE_DIRECTORY  the directory, as a path without links; other files are not affected
 *   INTERPOSE_NTH        the number of the call that fails, counted from 1
 *   INTERPOSE_MODE       once    that call fails, with the error INTERPOSE_ERRNO
 *                        from    that call and every later one fail
 *                        short   that call, if it writes, writes only half, and reports it
 *                        fill    the same, and every later one fails: a disk that is full now
 *                        kill    the process is killed before that call
 *   INTERPOSE_REPORT     a file to which a line is written for each call that was made to fail,
 *                        with its operation and path, and at the end the number of calls
 *   INTERPOSE_JOURNAL    a file to which each successful call is written, with its data:
 *                          C path              created (or opened, if it existed)
 *                          W path offset size  written; the bytes follow
 *                          T path size         truncated or extended
 *                          S path              synced (a file, or the names in the directory)
 *                          L old new           linked
 *                          R old new           renamed
 *                          U path              unlinked
 *                        each on a separate line; a path contains no space
 *
 * The calls are made by syscall(2), so the C library's own functions need not be looked up. Rust's
 * standard library and SQLite change files only by these functions. One call bypasses the C
 * library: renameat2 of the crate rustix. The kernel is told to send a signal instead (seccomp),
 * and the call is made in its handler.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>

static const char *directory, *mode, *report, *journal;
static long nth, error_number, calls;

static long number_of(const char *variable)
{
    const char *text = getenv(variable);
    return text ? atol(text) : 0;
}

/* Appends a line, and data if there is any, in one write. */
static void append(const char *file, const char *line, const void *data, size_t size)
{
    int fd = (int)syscall(SYS_openat, AT_FDCWD, file, O_WRONLY | O_CREAT | O_APPEND, 0666);
    struct iovec parts[2] = { { (void *)line, strlen(line) }, { (void *)data, size } };
    if (fd < 0 || syscall(SYS_writev, fd, parts, 2) != (long)(strlen(line) + size))
        abort();
    syscall(SYS_close, fd);
}

/* The path of an open file in the directory, or of the directory itself. */
static int is_watched_file(int fd, char *path)
{
    char link[64];
    ssize_t length;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    length = syscall(SYS_readlinkat, AT_FDCWD, link, path, PATH_MAX - 1);
    if (length < 0)
        return 0;
    path[length] = '\0';
    return !strncmp(path, directory, strlen(directory));
}

static int is_watched(const char *path)
{
    return !strncmp(path, directory, strlen(directory));
}

/* Counts a call, and decides whether it fails, writes only half, or is made. */
enum fate { MADE, SHORT, FAILS };

static enum fate fate_of(const char *what, const char *path)
{
    char line[PATH_MAX + 64];
    enum fate fate = MADE;
    calls++;
    if (!nth || calls < nth)
        return MADE;
    if (!strcmp(mode, "once"))
        fate = calls == nth ? FAILS : MADE;
    else if (!strcmp(mode, "from"))
        fate = FAILS;
    else if (!strcmp(mode, "kill"))
        kill(getpid(), SIGKILL);
    else if (!strcmp(mode, "short"))
        fate = calls == nth && *what == 'W' ? SHORT : MADE;
    else if (!strcmp(mode, "fill"))
        fate = calls == nth && *what == 'W' ? SHORT : FAILS;
    if (fate != MADE) {
        snprintf(line, sizeof line, "%s %s\n", what, path);
        append(report, line, NULL, 0);
    }
    if (fate == FAILS)
        errno = (int)error_number;
    return fate;
}

__attribute__((destructor)) static void end(void)
{
    char line[64];
    snprintf(line, sizeof line, "calls %ld\n", calls);
    if (report)
        append(report, line, NULL, 0);
}

static void note(const char *what, const char *path, const char *rest, const void *data, long size)
{
    char line[3 * PATH_MAX];
    if (!journal)
        return;
    snprintf(line, sizeof line, "%s %s%s\n", what, path, rest);
    append(journal, line, data, (size_t)size);
}

static ssize_t write_at(int fd, const void *data, size_t size, off_t offset, int is_positioned)
{
    char path[PATH_MAX], rest[64];
    ssize_t written;
    int is_counted = is_watched_file(fd, path);
    if (is_counted) {
        switch (fate_of("W", path)) {
        case FAILS: return -1;
        case SHORT: size = size > 1 ? size / 2 : size; break;
        case MADE: break;
        }
        if (!is_positioned)
            offset = lseek(fd, 0, SEEK_CUR);
    }
    written = is_positioned ? syscall(SYS_pwrite64, fd, data, size, offset)
                            : syscall(SYS_write, fd, data, size);
    if (is_counted && written > 0) {
        snprintf(rest, sizeof rest, " %ld %ld", (long)offset, (long)written);
        note("W", path, rest, data, written);
    }
    return written;
}

ssize_t write(int fd, const void *data, size_t size)
{
    return write_at(fd, data, size, 0, 0);
}

ssize_t pwrite64(int fd, const void *data, size_t size, off_t offset)
{
    return write_at(fd, data, size, offset, 1);
}

int ftruncate64(int fd, off_t size)
{
    char path[PATH_MAX], rest[64];
    int result;
    if (!is_watched_file(fd, path))
        return (int)syscall(SYS_ftruncate, fd, size);
    if (fate_of("T", path) == FAILS)
        return -1;
    result = (int)syscall(SYS_ftruncate, fd, size);
    snprintf(rest, sizeof rest, " %ld", (long)size);
    if (!result)
        note("T", path, rest, NULL, 0);
    return result;
}

static int sync_by(long call, int fd)
{
    char path[PATH_MAX];
    int result;
    if (!is_watched_file(fd, path))
        return (int)syscall(call, fd);
    if (fate_of("S", path) == FAILS)
        return -1;
    result = (int)syscall(call, fd);
    if (!result)
        note("S", path, "", NULL, 0);
    return result;
}

int fsync(int fd)
{
    return sync_by(SYS_fsync, fd);
}

int fdatasync(int fd)
{
    return sync_by(SYS_fdatasync, fd);
}

/* Opening a file counts only if it can create one. */
static int open_at(int at, const char *path, int flags, mode_t permissions)
{
    int fd, is_counted = flags & O_CREAT && is_watched(path);
    if (is_counted && fate_of("C", path) == FAILS)
        return -1;
    fd = (int)syscall(SYS_openat, at, path, flags, permissions);
    if (is_counted && fd >= 0)
        note("C", path, "", NULL, 0);
    return fd;
}

#define PERMISSIONS_AFTER(last) __extension__ ({ \
    va_list rest; \
    va_start(rest, last); \
    mode_t given = flags & O_CREAT ? va_arg(rest, mode_t) : 0; \
    va_end(rest); \
    given; })

int open64(const char *path, int flags, ...)
{
    return open_at(AT_FDCWD, path, flags, PERMISSIONS_AFTER(flags));
}

int openat64(int at, const char *path, int flags, ...)
{
    return open_at(at, path, flags, PERMISSIONS_AFTER(flags));
}

int linkat(int old_at, const char *old, int new_at, const char *new, int flags)
{
    char rest[PATH_MAX + 1];
    int result, is_counted = is_watched(new);
    if (is_counted && fate_of("L", new) == FAILS)
        return -1;
    result = (int)syscall(SYS_linkat, old_at, old, new_at, new, flags);
    snprintf(rest, sizeof rest, " %s", new);
    if (is_counted && !result)
        note("L", old, rest, NULL, 0);
    return result;
}

static int unlink_at(int at, const char *path, int flags)
{
    int result, is_counted = is_watched(path);
    if (is_counted && fate_of("U", path) == FAILS)
        return -1;
    result = (int)syscall(SYS_unlinkat, at, path, flags);
    if (is_counted && !result)
        note("U", path, "", NULL, 0);
    return result;
}

int unlinkat(int at, const char *path, int flags)
{
    return unlink_at(at, path, flags);
}

int unlink(const char *path)
{
    return unlink_at(AT_FDCWD, path, 0);
}

/* A sixth argument, which renameat2 does not have, marks a call that is made by this file. */
#define OURS 0x0badcafe

int rename(const char *old, const char *new)
{
    char rest[PATH_MAX + 1];
    int result, is_counted = is_watched(new);
    if (is_counted && fate_of("R", new) == FAILS)
        return -1;
    result = (int)syscall(SYS_renameat2, AT_FDCWD, old, AT_FDCWD, new, 0, OURS);
    snprintf(rest, sizeof rest, " %s", new);
    if (is_counted && !result)
        note("R", old, rest, NULL, 0);
    return result;
}

/* Permissions are not in the journal: a power failure is tested without them. */
int fchmod(int fd, mode_t permissions)
{
    char path[PATH_MAX];
    if (is_watched_file(fd, path) && fate_of("M", path) == FAILS)
        return -1;
    return (int)syscall(SYS_fchmod, fd, permissions);
}

/* The registers of a system call: its result and its arguments. */
#if defined(__x86_64__)
#define RESULT(context) (context)->uc_mcontext.gregs[REG_RAX]
#define ARGUMENT(context, n) (context)->uc_mcontext.gregs[ \
    ((const int[]) { REG_RDI, REG_RSI, REG_RDX, REG_R10, REG_R8 })[n]]
#elif defined(__aarch64__)
#define RESULT(context) (context)->uc_mcontext.regs[0]
#define ARGUMENT(context, n) (context)->uc_mcontext.regs[n]
#endif

static void rename_instead(int number, siginfo_t *info, void *signal_context)
{
    ucontext_t *context = signal_context;
    const char *old = (const char *)ARGUMENT(context, 1), *new = (const char *)ARGUMENT(context, 3);
    char rest[PATH_MAX + 1];
    int is_counted = is_watched(new), saved = errno;
    long result = -1;
    (void)number, (void)info;
    if (!is_counted || fate_of("R", new) != FAILS)
        result = syscall(SYS_renameat2, ARGUMENT(context, 0), old, ARGUMENT(context, 2), new,
                         ARGUMENT(context, 4), OURS);
    RESULT(context) = result ? -errno : 0;
    snprintf(rest, sizeof rest, " %s", new);
    if (is_counted && !result)
        note("R", old, rest, NULL, 0);
    errno = saved;
}

__attribute__((constructor)) static void begin(void)
{
    struct sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_renameat2, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[5])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OURS, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = { sizeof program / sizeof *program, program };
    struct sigaction action = { .sa_sigaction = rename_instead, .sa_flags = SA_SIGINFO };

    directory = getenv("INTERPOSE_DIRECTORY");
    mode = getenv("INTERPOSE_MODE");
    report = getenv("INTERPOSE_REPORT");
    journal = getenv("INTERPOSE_JOURNAL");
    nth = number_of("INTERPOSE_NTH");
    error_number = number_of("INTERPOSE_ERRNO");
    if (!directory || sigaction(SIGSYS, &action, NULL) || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter))
        abort(); /* A test that cannot inject faults must not pass. */
}

/* The same functions under their other names. */
ssize_t pwrite(int, const void *, size_t, off_t) __attribute__((alias("pwrite64")));
int ftruncate(int, off_t) __attribute__((alias("ftruncate64")));
int open(const char *, int, ...) __attribute__((alias("open64")));
int openat(int, const char *, int, ...) __attribute__((alias("openat64")));
