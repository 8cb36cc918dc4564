/* Functions that code compiled with a new C library calls, by those that older ones have. Linked by scripts/lib/old_glibc.sh. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/stat.h>
#include <time.h>

/* 2.32. Tells libstdc++ that it need not lock; 0: it always does. */
char __libc_single_threaded;

/* 2.33. Before, headers turned these into calls that have the version of the structure. */
#ifdef __x86_64__
#define STAT_VERSION 1
#else
#define STAT_VERSION 0
#endif
int __xstat(int version, const char* path, struct stat* into);
int __lxstat(int version, const char* path, struct stat* into);
int __fxstat(int version, int file, struct stat* into);
int stat(const char* path, struct stat* into) { return __xstat(STAT_VERSION, path, into); }
int lstat(const char* path, struct stat* into) { return __lxstat(STAT_VERSION, path, into); }
int fstat(int file, struct stat* into) { return __fxstat(STAT_VERSION, file, into); }
int stat64(const char* path, struct stat64* into) __attribute__((alias("stat")));
int lstat64(const char* path, struct stat64* into) __attribute__((alias("lstat")));
int fstat64(int file, struct stat64* into) __attribute__((alias("fstat")));

/* 2.30. Callers ask for the time again, so that a change of the system's clock wakes them early or late, but not for good. */
int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock, const struct timespec* until)
{
    struct timespec there, here;
    clock_gettime(clock, &there);
    clock_gettime(CLOCK_REALTIME, &here);
    long long end = until->tv_nsec - there.tv_nsec + here.tv_nsec;
    here.tv_sec += until->tv_sec - there.tv_sec;
    while (end < 0) end += 1000000000, here.tv_sec--;
    here.tv_sec += end / 1000000000;
    here.tv_nsec = end % 1000000000;
    return pthread_cond_timedwait(condition, mutex, &here);
}
