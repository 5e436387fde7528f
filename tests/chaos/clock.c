/* A wrong clock for one process: LD_PRELOAD it, with CLOCK_FILE naming a file of eight bytes, the seconds that its clock is
   ahead (negative: behind) in the machine's byte order. Only the time of day is wrong; intervals are not. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t *ahead;

__attribute__((constructor)) static void start(void)
{
    const char *path = getenv("CLOCK_FILE");
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    void *seen = file < 0 ? MAP_FAILED : mmap(NULL, sizeof *ahead, PROT_READ, MAP_SHARED, file, 0);
    if (seen == MAP_FAILED)
        abort();
    ahead = seen;
    close(file);
}

int clock_gettime(clockid_t clock, struct timespec *time)
{
    int failed = syscall(SYS_clock_gettime, clock, time);
    if (!failed && clock == CLOCK_REALTIME && ahead)
        time->tv_sec += *ahead;
    return failed;
}
