/**
 * \file
 * libkgen_openmp_order.so: tells ThreadSanitizer in which order GCC's OpenMP runtime lets threads work.
 *
 * libgomp is not instrumented, so ThreadSanitizer sees neither its barriers nor the start and end of a parallel region,
 * and takes what they order for a race. This library is preloaded. It has the entry points that compiled code calls,
 * forwards each to libgomp, and states the order that OpenMP promises around the call, and no more: two accesses
 * without a barrier, critical region or atomic between them stay unordered.
 *
 * lib/profile/sanitizer_tools.cpp knows which entry points are ordered here, or need no order; a candidate that calls
 * another one is not judged by ThreadSanitizer.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#pragma GCC visibility push(default)

void __tsan_acquire(void* address) __attribute__((weak));
void __tsan_release(void* address) __attribute__((weak));

static void acquire(void* address) {
  if (__tsan_acquire != NULL) __tsan_acquire(address);
}

static void release(void* address) {
  if (__tsan_release != NULL) __tsan_release(address);
}

static void* libgomp;

__attribute__((constructor)) static void open_libgomp(void) {
  libgomp = dlopen("libgomp.so.1", RTLD_NOW | RTLD_GLOBAL);
}

typedef void function(void);

static function* find(const char* name) {
  function* found = NULL;
  void* const address = libgomp == NULL ? NULL : dlsym(libgomp, name);
  if (address == NULL) {
    fprintf(stderr, "kgen-openmp-order: libgomp has no %s\n", name);
    abort();
  }
  memcpy(&found, &address, sizeof found); /* ISO C has no conversion */
  return found;
}

/* The function of libgomp with the type of ours. Looked up once; a second look-up by another thread finds the same. */
#define REAL(name)                      \
  static __typeof__(&name) real_##name; \
  if (real_##name == NULL) real_##name = (__typeof__(&name))find(#name)

/* -- Parallel regions: all before happens before each thread, and each thread before all after. -------------------- */

struct region {
  void (*work)(void*);
  void* data;
  char start;
  char end;
  /* Barriers of a team in turn: a fast thread that is at the next barrier already adds no order to this one. */
  char barrier[2];
};

static __thread struct region* current;
static __thread unsigned barriers_passed;
/* Tasks of all regions: their ends happen before the next point that waits for tasks. */
static char tasks;

static void run_region(void* given) {
  struct region* region = given;
  struct region* const outer = current;
  const unsigned outer_passed = barriers_passed;
  current = region;
  barriers_passed = 0;
  acquire(&region->start);
  region->work(region->data);
  release(&region->end);
  current = outer;
  barriers_passed = outer_passed;
}

#define BEGIN_REGION(work, data)                     \
  struct region region = {work, data, 0, 0, {0, 0}}; \
  release(&region.start)
#define END_REGION      \
  acquire(&region.end); \
  acquire(&tasks)

typedef void region_work(void*);

void GOMP_parallel(region_work* work, void* data, unsigned threads, unsigned flags) {
  REAL(GOMP_parallel);
  BEGIN_REGION(work, data);
  real_GOMP_parallel(run_region, &region, threads, flags);
  END_REGION;
}

#define PARALLEL_LOOP(name)                                                                               \
  void name(region_work* work, void* data, unsigned threads, long start, long end, long step, long chunk, \
            unsigned flags) {                                                                             \
    REAL(name);                                                                                           \
    BEGIN_REGION(work, data);                                                                             \
    real_##name(run_region, &region, threads, start, end, step, chunk, flags);                            \
    END_REGION;                                                                                           \
  }
PARALLEL_LOOP(GOMP_parallel_loop_static)
PARALLEL_LOOP(GOMP_parallel_loop_dynamic)
PARALLEL_LOOP(GOMP_parallel_loop_guided)
PARALLEL_LOOP(GOMP_parallel_loop_nonmonotonic_dynamic)
PARALLEL_LOOP(GOMP_parallel_loop_nonmonotonic_guided)

#define PARALLEL_LOOP_AT_RUNTIME(name)                                                                          \
  void name(region_work* work, void* data, unsigned threads, long start, long end, long step, unsigned flags) { \
    REAL(name);                                                                                                 \
    BEGIN_REGION(work, data);                                                                                   \
    real_##name(run_region, &region, threads, start, end, step, flags);                                         \
    END_REGION;                                                                                                 \
  }
PARALLEL_LOOP_AT_RUNTIME(GOMP_parallel_loop_runtime)
PARALLEL_LOOP_AT_RUNTIME(GOMP_parallel_loop_nonmonotonic_runtime)
PARALLEL_LOOP_AT_RUNTIME(GOMP_parallel_loop_maybe_nonmonotonic_runtime)

void GOMP_parallel_sections(region_work* work, void* data, unsigned threads, unsigned count, unsigned flags) {
  REAL(GOMP_parallel_sections);
  BEGIN_REGION(work, data);
  real_GOMP_parallel_sections(run_region, &region, threads, count, flags);
  END_REGION;
}

/* -- Barriers ------------------------------------------------------------------------------------------------------ */

static char outside[2];

static char* arrive(void) {
  char* const barrier = current != NULL ? &current->barrier[barriers_passed++ % 2] : &outside[0];
  release(barrier);
  return barrier;
}

static void leave(char* barrier) {
  acquire(barrier);
  acquire(&tasks);
}

#define BARRIER(name)               \
  void name(void) {                 \
    REAL(name);                     \
    char* const barrier = arrive(); \
    real_##name();                  \
    leave(barrier);                 \
  }
BARRIER(GOMP_barrier)
BARRIER(GOMP_loop_end)
BARRIER(GOMP_sections_end)

#define CANCELLABLE_BARRIER(name)    \
  bool name(void) {                  \
    REAL(name);                      \
    char* const barrier = arrive();  \
    const bool stop = real_##name(); \
    leave(barrier);                  \
    return stop;                     \
  }
CANCELLABLE_BARRIER(GOMP_barrier_cancel)
CANCELLABLE_BARRIER(GOMP_loop_end_cancel)
CANCELLABLE_BARRIER(GOMP_sections_end_cancel)

/* `single copyprivate`: one thread gives the others its data. */
void* GOMP_single_copy_start(void) {
  REAL(GOMP_single_copy_start);
  void* const data = real_GOMP_single_copy_start();
  if (data != NULL) acquire(current != NULL ? &current->barrier[0] : &outside[1]);
  return data;
}

void GOMP_single_copy_end(void* data) {
  REAL(GOMP_single_copy_end);
  release(current != NULL ? &current->barrier[0] : &outside[1]);
  real_GOMP_single_copy_end(data);
}

/* -- Mutual exclusion ---------------------------------------------------------------------------------------------- */

static char critical;
static char atomic;
static char ordered;

#define ENTER_AND_LEAVE(enter, leave_it, address) \
  void enter(void) {                              \
    REAL(enter);                                  \
    real_##enter();                               \
    acquire(address);                             \
  }                                               \
  void leave_it(void) {                           \
    REAL(leave_it);                               \
    release(address);                             \
    real_##leave_it();                            \
  }
ENTER_AND_LEAVE(GOMP_critical_start, GOMP_critical_end, &critical)
ENTER_AND_LEAVE(GOMP_atomic_start, GOMP_atomic_end, &atomic)
ENTER_AND_LEAVE(GOMP_ordered_start, GOMP_ordered_end, &ordered)

void GOMP_critical_name_start(void** name) {
  REAL(GOMP_critical_name_start);
  real_GOMP_critical_name_start(name);
  acquire(name);
}

void GOMP_critical_name_end(void** name) {
  REAL(GOMP_critical_name_end);
  release(name);
  real_GOMP_critical_name_end(name);
}

#define LOCKS(set, unset, test)        \
  void set(void* lock) {               \
    REAL(set);                         \
    real_##set(lock);                  \
    acquire(lock);                     \
  }                                    \
  void unset(void* lock) {             \
    REAL(unset);                       \
    release(lock);                     \
    real_##unset(lock);                \
  }                                    \
  int test(void* lock) {               \
    REAL(test);                        \
    const int got = real_##test(lock); \
    if (got != 0) acquire(lock);       \
    return got;                        \
  }
LOCKS(omp_set_lock, omp_unset_lock, omp_test_lock)
LOCKS(omp_set_nest_lock, omp_unset_nest_lock, omp_test_nest_lock)

/* -- Tasks: the creator happens before the task, and the task before whatever waits for tasks. ----------------------
 */

struct task {
  void (*work)(void*);
  void* block; /* what was allocated */
  void* data;  /* aligned, inside */
  struct region* region;
  bool depends;
  char start;
};

static char dependences;

static void run_task(void* given) {
  struct task* task = *(struct task**)given;
  acquire(&task->start);
  if (task->depends) acquire(&dependences);
  task->work(task->data);
  if (task->depends) release(&dependences);
  release(&tasks);
  free(task->block);
  free(task);
}

void GOMP_task(region_work* work, void* data, void (*copy)(void*, void*), long size, long align, bool deferred,
               unsigned flags, void** depend, int priority, void* detach) {
  REAL(GOMP_task);
  struct task* task = calloc(1, sizeof *task);
  const size_t room = (size_t)(align > 0 ? align : 1);
  task->block = calloc(1, (size_t)size + room);
  task->data = (void*)(((size_t)task->block + room - 1) / room * room);
  task->work = work;
  task->depends = depend != NULL;
  if (copy != NULL)
    copy(task->data, data);
  else if (size > 0)
    memcpy(task->data, data, (size_t)size);
  release(&task->start);
  real_GOMP_task(run_task, &task, NULL, sizeof task, sizeof task, deferred, flags, depend, priority, detach);
  if (!deferred) acquire(&tasks);
}

#define WAITS_FOR_TASKS(name) \
  void name(void) {           \
    REAL(name);               \
    real_##name();            \
    acquire(&tasks);          \
  }
WAITS_FOR_TASKS(GOMP_taskwait)
WAITS_FOR_TASKS(GOMP_taskgroup_end)

void GOMP_taskwait_depend(void** depend) {
  REAL(GOMP_taskwait_depend);
  real_GOMP_taskwait_depend(depend);
  acquire(&tasks);
}
