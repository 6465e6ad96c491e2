#define _GNU_SOURCE
#include <dlfcn.h>
#include <execinfo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu.h"

/* The parts of CUPTI's interface that are used here, so that one build serves machines with and without it. The places
 * of these members have been the same since CUPTI 9; later versions append. */

enum { k_memcpy = 1, k_memset = 2, k_kernel = 10 };
enum { k_driver_functions = 1, k_runtime_functions = 2 };
enum { k_forced = 1 };

/* CUpti_ActivityKernel9 and those before it; copies and fills have the same kind, start and end. */
struct record {
  uint32_t kind;
  uint32_t unused_1[3];
  uint64_t start_ns;
  uint64_t end_ns;
  uint64_t completed_ns;
  uint32_t unused_2[13];
  uint32_t correlation;
  int64_t grid;
  const char* name;
};

_Static_assert(offsetof(struct record, correlation) == 92, "layout");
_Static_assert(offsetof(struct record, name) == 104, "layout");

/* CUpti_CallbackData. */
struct function_call {
  int is_exit;
  const char* function;
  const void* arguments;
  void* result;
  const char* kernel;
  void* context;
  uint32_t context_number;
  uint64_t* data;
  uint32_t correlation;
};

typedef void (*request_buffer)(uint8_t** buffer, size_t* bytes, size_t* most_records);
typedef void (*take_buffer)(void* context, uint32_t stream, uint8_t* buffer, size_t bytes, size_t valid);
typedef void (*on_function)(void* data, int domain, uint32_t function, const void* call);

static struct {
  int (*register_callbacks)(request_buffer, take_buffer);
  int (*enable)(int kind);
  int (*disable)(int kind);
  int (*flush)(uint32_t flags);
  int (*next_record)(uint8_t* buffer, size_t valid, struct record** record);
  int (*subscribe)(void** subscriber, on_function callback, void* data);
  int (*unsubscribe)(void* subscriber);
  int (*enable_domain)(uint32_t enable, void* subscriber, int domain);
} cupti;

/* The object that asked for a launch, by the launch's number. */
enum { k_most_launches = 4096, k_most_objects = 64, k_object_bytes = 128, k_most_frames = 48 };
static struct {
  uint32_t correlation;
  uint32_t object;
} launches[k_most_launches];
static size_t launch_count;
static char objects[k_most_objects][k_object_bytes];
static size_t object_count;

enum { k_most_activities = 512, k_name_bytes = 96 };
static struct activity {
  uint64_t ns;
  uint32_t count;
  uint32_t object; /* 0: unknown, else its index and 1 */
  char name[k_name_bytes];
} activities[k_most_activities];
static size_t activity_count;
static uint64_t first_ns, last_ns;

static const int k_kinds[] = {k_kernel, k_memcpy, k_memset};

/* -- launches --------------------------------------------------------------------------------------------------------
 */

static int starts_with(const char* text, const char* start) { return strncmp(text, start, strlen(start)) == 0; }

/* True for objects that launch what others ask them to launch. */
static int only_passes_on(const char* base) {
  static const char* const k_names[] = {"libcuda.so", "libcudart",    "libcupti", "libkgen_runner_support",
                                        "libc.so",    "libpthread",   "libffi",   "_ctypes",
                                        "libgcc_s",   "libstdc++.so", "libnvJit", "libdl.so",
                                        "ld-linux",   "kgen-runner"};
  for (size_t i = 0; i < sizeof k_names / sizeof *k_names; ++i)
    if (starts_with(base, k_names[i])) return 1;
  return 0;
}

/* The part of a path that tells an object's origin: from the folder of Python's packages on, else the whole path. */
static const char* telling_part(const char* path) {
  const char* package = strstr(path, "-packages/");
  return package != NULL ? package : path;
}

/* The number of the object that called the driver or the runtime, or 0. */
static uint32_t launching_object(void) {
  void* frames[k_most_frames];
  const int count = backtrace(frames, k_most_frames);
  for (int i = 0; i < count; ++i) {
    Dl_info info;
    if (dladdr(frames[i], &info) == 0 || info.dli_fname == NULL) continue;
    const char* slash = strrchr(info.dli_fname, '/');
    if (only_passes_on(slash != NULL ? slash + 1 : info.dli_fname)) continue;
    const char* path = telling_part(info.dli_fname);
    for (size_t known = 0; known < object_count; ++known)
      if (strncmp(objects[known], path, k_object_bytes - 1) == 0) return (uint32_t)known + 1;
    if (object_count == k_most_objects) return 0;
    snprintf(objects[object_count], k_object_bytes, "%s", path);
    return (uint32_t)++object_count;
  }
  return 0;
}

static void note_function(void* data, int domain, uint32_t function, const void* call_data) {
  (void)data, (void)domain, (void)function;
  const struct function_call* call = call_data;
  if (call->is_exit || call->function == NULL || strstr(call->function, "Launch") == NULL) return;
  if (launch_count == k_most_launches) return;
  launches[launch_count].correlation = call->correlation;
  launches[launch_count].object = launching_object();
  ++launch_count;
}

static uint32_t object_of(uint32_t correlation) {
  uint32_t found = 0;
  /* The runtime calls the driver: both calls may be noted, with the same object. */
  for (size_t i = 0; i < launch_count; ++i)
    if (launches[i].correlation == correlation && launches[i].object != 0) found = launches[i].object;
  return found;
}

/* -- what ran --------------------------------------------------------------------------------------------------------
 */

static void give_buffer(uint8_t** buffer, size_t* bytes, size_t* most_records) {
  *bytes = 1 << 20;
  *most_records = 0;
  *buffer = aligned_alloc(4096, *bytes);
  if (*buffer == NULL) *bytes = 0;
}

static void write_name(const struct record* record, char* name) {
  if (record->kind != k_kernel) {
    snprintf(name, k_name_bytes, "%s", record->kind == k_memcpy ? "Memcpy" : "Memset");
    return;
  }
  typedef char* (*demangler)(const char*, char*, size_t*, int*);
  static demangler demangle;
  if (demangle == NULL) {
    void* library = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_LOCAL);
    void* found = library != NULL ? dlsym(library, "__cxa_demangle") : NULL;
    memcpy(&demangle, &found, sizeof found);
  }
  const char* mangled = record->name != NULL ? record->name : "(no name)";
  char* plain = demangle != NULL ? demangle(mangled, NULL, NULL, NULL) : NULL;
  snprintf(name, k_name_bytes, "%s", plain != NULL ? plain : mangled);
  free(plain);
  /* One line each, with the object behind a tab. */
  for (char* at = name; *at != '\0'; ++at)
    if (*at == '\n' || *at == '\t') *at = ' ';
}

static void add(const struct record* record) {
  if (record->end_ns < record->start_ns) return;
  char name[k_name_bytes];
  write_name(record, name);
  const uint32_t object = record->kind == k_kernel ? object_of(record->correlation) : 0;
  struct activity* to = NULL;
  for (size_t i = 0; i < activity_count && to == NULL; ++i)
    if (activities[i].object == object && strcmp(activities[i].name, name) == 0) to = &activities[i];
  if (to == NULL) {
    /* The last place takes what finds no other. */
    to = &activities[activity_count < k_most_activities ? activity_count++ : k_most_activities - 1];
    if (to->count == 0) {
      memcpy(to->name, name, sizeof name);
      to->object = object;
    }
  }
  to->ns += record->end_ns - record->start_ns;
  to->count += 1;
  if (first_ns == 0 || record->start_ns < first_ns) first_ns = record->start_ns;
  if (record->end_ns > last_ns) last_ns = record->end_ns;
}

static void read_buffer(void* context, uint32_t stream, uint8_t* buffer, size_t bytes, size_t valid) {
  (void)context, (void)stream, (void)bytes;
  struct record* record = NULL;
  while (cupti.next_record(buffer, valid, &record) == 0)
    if (record->kind == k_kernel || record->kind == k_memcpy || record->kind == k_memset) add(record);
  free(buffer);
}

/* -- the interface ---------------------------------------------------------------------------------------------------
 */

static void* open_library(void) {
  static const char* const k_paths[] = {"libcupti.so.13",
                                        "libcupti.so.12",
                                        "libcupti.so",
                                        "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so",
                                        "/usr/local/cuda/lib64/libcupti.so",
                                        "/opt/cuda/extras/CUPTI/lib64/libcupti.so"};
  /* One that the process has loaded comes first: a second copy would find the driver taken. */
  for (size_t i = 0; i < 3; ++i) {
    void* library = dlopen(k_paths[i], RTLD_NOW | RTLD_NOLOAD);
    if (library != NULL) return library;
  }
  /* The worker names the one of its Python's packages. */
  const char* named = getenv("KGEN_CUPTI");
  void* of_python = named != NULL ? dlopen(named, RTLD_NOW | RTLD_LOCAL) : NULL;
  if (of_python != NULL) return of_python;
  for (size_t i = 0; i < sizeof k_paths / sizeof *k_paths; ++i) {
    void* library = dlopen(k_paths[i], RTLD_NOW | RTLD_LOCAL);
    if (library != NULL) return library;
  }
  return NULL;
}

static int load(char* error, size_t capacity) {
  static int is_loaded;
  if (is_loaded) return 0;
  void* library = open_library();
  if (library == NULL) {
    snprintf(error, capacity, "there is no libcupti.so; the CUDA toolkit has it");
    return -1;
  }
  const struct {
    void* to;
    const char* name;
  } functions[] = {{&cupti.register_callbacks, "cuptiActivityRegisterCallbacks"},
                   {&cupti.enable, "cuptiActivityEnable"},
                   {&cupti.disable, "cuptiActivityDisable"},
                   {&cupti.flush, "cuptiActivityFlushAll"},
                   {&cupti.next_record, "cuptiActivityGetNextRecord"},
                   {&cupti.subscribe, "cuptiSubscribe"},
                   {&cupti.unsubscribe, "cuptiUnsubscribe"},
                   {&cupti.enable_domain, "cuptiEnableDomain"}};
  for (size_t i = 0; i < sizeof functions / sizeof *functions; ++i) {
    void* found = dlsym(library, functions[i].name);
    if (found == NULL) {
      snprintf(error, capacity, "libcupti.so has no %s", functions[i].name);
      return -1;
    }
    memcpy(functions[i].to, &found, sizeof found);
  }
  is_loaded = 1;
  return 0;
}

static void* subscriber;

int kgen_gpu_begin_activities(char* error, size_t capacity) {
  if (load(error, capacity) != 0) return -1;
  launch_count = object_count = activity_count = 0;
  first_ns = last_ns = 0;
  memset(activities, 0, sizeof activities);
  int status = cupti.register_callbacks(give_buffer, read_buffer);
  for (size_t i = 0; status == 0 && i < sizeof k_kinds / sizeof *k_kinds; ++i) status = cupti.enable(k_kinds[i]);
  if (status != 0) {
    for (size_t i = 0; i < sizeof k_kinds / sizeof *k_kinds; ++i) cupti.disable(k_kinds[i]);
    snprintf(error, capacity, "CUPTI does not start (error %d)", status);
    return -1;
  }
  /* The first backtrace() of a process loads a library. */
  void* frame;
  backtrace(&frame, 1);
  /* Without this, because another part of the process has subscribed, kernels are known by their names only. */
  subscriber = NULL;
  if (cupti.subscribe(&subscriber, note_function, NULL) != 0) {
    subscriber = NULL;
  } else {
    cupti.enable_domain(1, subscriber, k_driver_functions);
    cupti.enable_domain(1, subscriber, k_runtime_functions);
  }
  return 0;
}

static int longest_first(const void* a, const void* b) {
  const struct activity *first = a, *second = b;
  return first->ns < second->ns ? 1 : first->ns > second->ns ? -1 : 0;
}

/* What does not fit is added up for each object, so that many short kernels hide nothing. */
static size_t write_rest(size_t from, char* text, size_t used, size_t capacity) {
  for (size_t i = from; i < activity_count; ++i) {
    struct activity sum = activities[i];
    if (sum.count == 0) continue;
    for (size_t other = i + 1; other < activity_count; ++other)
      if (activities[other].object == sum.object) {
        sum.ns += activities[other].ns;
        sum.count += activities[other].count;
        activities[other].count = 0;
      }
    const char* object = sum.object != 0 ? objects[sum.object - 1] : "";
    const int wrote = snprintf(text + used, capacity - used, "%llu %u\t(others) %s\t%s\n", (unsigned long long)sum.ns,
                               sum.count, sum.name, object);
    if (wrote < 0 || (size_t)wrote >= capacity - used) break;
    used += (size_t)wrote;
  }
  return used;
}

uint64_t kgen_gpu_end_activities(char* text, size_t capacity) {
  enum { k_rest_bytes = 1000 };
  cupti.flush(k_forced);
  for (size_t i = 0; i < sizeof k_kinds / sizeof *k_kinds; ++i) cupti.disable(k_kinds[i]);
  if (subscriber != NULL) cupti.unsubscribe(subscriber);
  subscriber = NULL;
  qsort(activities, activity_count, sizeof *activities, longest_first);
  size_t used = 0, i = 0;
  text[0] = '\0';
  for (; i < activity_count; ++i) {
    const struct activity* one = &activities[i];
    const char* object = one->object != 0 ? objects[one->object - 1] : "";
    char line[k_name_bytes + k_object_bytes + 64];
    const int length =
        snprintf(line, sizeof line, "%llu %u\t%s\t%s\n", (unsigned long long)one->ns, one->count, one->name, object);
    if (length < 0 || used + (size_t)length + k_rest_bytes > capacity) break;
    memcpy(text + used, line, (size_t)length + 1);
    used += (size_t)length;
  }
  write_rest(i, text, used, capacity);
  return last_ns - first_ns;
}
