/**
 * \file
 * kgen-gpu: reads the facts about the GPUs of this machine, so that no other program has to load a driver for it.
 *
 *   kgen-gpu facts            one JSON object a line for each device: the members of kgen_gpu_facts
 *   kgen-gpu bandwidth UUID   {"copy_bytes_per_second": N}: bytes read plus bytes written by the best of some copies
 *   kgen-gpu probe UUID       writes "r" when ready; then does a little work for each byte of its input, and answers
 *                             with the nanoseconds that a minimal piece of it took, an int64_t. The next call of
 *                             another process finds the device as this process left it
 *   kgen-gpu sharing UUID [VARIABLE [NODE...]]
 *                             {"refused": "", "sharing": "virtual_memory"}: how a judge and a sandboxed runner share
 *                             memory, the first way that works, and why those before it do not. VARIABLE makes a
 *                             process see that GPU only, a NODE is one of its device nodes
 *
 * Ends with 0; with 69 and one line on standard error where there is no driver, no such device, or it does not work;
 * with 75 where sharing could not be tried; with 64 for anything else on the command line.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../runner_support.h"
#include "driver.h"
#include "gpu.h"
#include "gpu_sharing.h"

enum { k_usage = 64, k_machine_lacks = 69, k_cannot_write = 74, k_not_tried = 75 };
/* Next to nothing, and enough for a kernel of many blocks. */
enum { k_little_bytes = 1 << 12, k_probe_bytes = 1 << 24 };

static int complain(const char* why) {
  fprintf(stderr, "kgen-gpu: %s\n", why);
  return k_machine_lacks;
}

/* Prints a text of the driver. Names of real devices have no bytes outside ASCII, which could break the JSON. */
static void print_text(const char* name, const char* text) {
  printf("\"%s\": \"", name);
  for (const char* at = text; *at != '\0'; ++at) {
    const unsigned char byte = (unsigned char)*at;
    if (byte == '"' || byte == '\\') {
      printf("\\%c", byte);
    } else if (byte < 0x20 || byte >= 0x7F) {
      printf("\\u%04x", byte < 0x20 ? byte : 0xFFFDU);
    } else {
      putchar(byte);
    }
  }
  fputs("\", ", stdout);
}

static void print_number(const char* name, unsigned long long number) { printf("\"%s\": %llu, ", name, number); }

static void print_integer(const char* name, int32_t number) {
  print_number(name, number > 0 ? (unsigned long long)number : 0);
}

static void print_facts(const struct kgen_gpu_facts* facts) {
  putchar('{');
  print_integer("index", facts->index);
  print_text("vendor", facts->vendor);
  print_text("name", facts->name);
  print_text("uuid", facts->uuid);
  print_text("architecture", facts->architecture);
  print_integer("driver_version", facts->driver_version);
  print_integer("multiprocessors", facts->multiprocessors);
  print_integer("warp_threads", facts->warp_threads);
  print_integer("threads_per_block", facts->threads_per_block);
  print_integer("threads_per_multiprocessor", facts->threads_per_multiprocessor);
  print_integer("registers_per_block", facts->registers_per_block);
  print_integer("registers_per_multiprocessor", facts->registers_per_multiprocessor);
  print_integer("clock_khz", facts->clock_khz);
  print_integer("memory_clock_khz", facts->memory_clock_khz);
  print_integer("memory_bus_bits", facts->memory_bus_bits);
  print_number("shared_bytes_per_block", facts->shared_bytes_per_block);
  print_number("shared_bytes_per_block_optin", facts->shared_bytes_per_block_optin);
  print_number("shared_bytes_per_multiprocessor", facts->shared_bytes_per_multiprocessor);
  print_number("l2_bytes", facts->l2_bytes);
  print_number("memory_bytes", facts->memory_bytes);
  printf("\"cooperative_launch\": %s, ", facts->cooperative_launch != 0 ? "true" : "false");
  printf("\"integrated\": %s}\n", facts->integrated != 0 ? "true" : "false");
}

static int list_facts(void) {
  char error[256] = "";
  const int count = kgen_gpu_count(error, sizeof error);
  if (count < 0) return complain(error);
  for (int i = 0; i < count; ++i) {
    struct kgen_gpu_facts facts;
    memset(&facts, 0, sizeof facts);
    facts.struct_size = sizeof facts;
    if (kgen_gpu_read_facts(i, &facts, error, sizeof error) != 0) return complain(error);
    print_facts(&facts);
  }
  return 0;
}

static int print_bandwidth(const char* uuid) {
  char error[256] = "";
  struct kgen_gpu* gpu = kgen_gpu_open(uuid, error, sizeof error);
  if (gpu == NULL) return complain(error);
  const double bandwidth = kgen_gpu_copy_bandwidth(gpu);
  if (bandwidth > 0) {
    printf("{\"copy_bytes_per_second\": %.0f}\n", bandwidth);
  } else {
    complain(kgen_gpu_error(gpu)[0] != '\0' ? kgen_gpu_error(gpu) : "a copy within the device took no time");
  }
  kgen_gpu_close(gpu);
  return bandwidth > 0 ? 0 : k_machine_lacks;
}

static int work(struct kgen_gpu* gpu, void* place, uint64_t bytes) {
  const int failed = kgen_gpu_fill(gpu, place, 't', bytes, kgen_gpu_stream(gpu));
  return failed != 0 ? failed : kgen_gpu_synchronize(gpu);
}

/* Answers go by write() and read(): stdio would keep them back. */
static int answer_probes(const char* uuid) {
  char error[256] = "";
  char byte = 'r';
  void* place = NULL;
  struct kgen_gpu* gpu = kgen_gpu_open(uuid, error, sizeof error);
  if (gpu == NULL) return complain(error);
  int failed = kgen_gpu_allocate(gpu, k_probe_bytes, &place);
  /* The first work of a process takes longer. */
  if (failed == 0) failed = work(gpu, place, k_probe_bytes);
  ssize_t told = failed == 0 ? write(STDOUT_FILENO, &byte, 1) : 0;
  while (told > 0 && read(STDIN_FILENO, &byte, 1) == 1) {
    const int64_t began_ns = kgen_now_ns();
    failed = work(gpu, place, k_little_bytes);
    const int64_t waited_ns = kgen_now_ns() - began_ns;
    if (failed == 0) failed = work(gpu, place, k_probe_bytes);
    told = failed == 0 ? write(STDOUT_FILENO, &waited_ns, sizeof waited_ns) : 0;
  }
  if (failed != 0) complain(kgen_gpu_error(gpu));
  kgen_gpu_close(gpu);
  return failed != 0 ? k_machine_lacks : 0;
}

/* What helps where memory of the GPU cannot be shared. */
static const char* sharing_remedy(const char* uuid) {
  char error[256];
  struct kgen_gpu_place place;
  return kgen_find_device(0, uuid, &place, error, sizeof error) == 0 ? place.driver->sharing_remedy : "";
}

static int find_sharing(const struct kgen_gpu_location* location) {
  char text[768];
  const char* way = "";
  const enum kgen_sharing_result result = kgen_gpu_try_sharing(location, &way, text, sizeof text);
  if (result == KGEN_SHARING_WORKS) {
    putchar('{');
    print_text("refused", text);
    printf("\"sharing\": \"%s\"}\n", way);
    return 0;
  }
  if (result == KGEN_SHARING_REFUSED) {
    fprintf(stderr, "kgen-gpu: no way of sharing its memory with a sandboxed process works (%s); %s\n", text,
            sharing_remedy(location->uuid));
    return k_machine_lacks;
  }
  complain(text);
  return k_not_tried;
}

int main(int argc, char** argv) {
  int status = k_usage;
  if (argc == 2 && strcmp(argv[1], "facts") == 0) {
    status = list_facts();
  } else if (argc == 3 && strcmp(argv[1], "bandwidth") == 0 && argv[2][0] != '\0') {
    status = print_bandwidth(argv[2]);
  } else if (argc == 3 && strcmp(argv[1], "probe") == 0 && argv[2][0] != '\0') {
    status = answer_probes(argv[2]);
  } else if (argc >= 3 && strcmp(argv[1], "sharing") == 0 && argv[2][0] != '\0') {
    const struct kgen_gpu_location location = {argv[2], argc > 3 ? argv[3] : "",
                                               (const char* const*)(argv + (argc > 4 ? 4 : argc))};
    status = find_sharing(&location);
  } else {
    fputs(
        "usage: kgen-gpu facts\n       kgen-gpu bandwidth UUID\n       kgen-gpu probe UUID\n"
        "       kgen-gpu sharing UUID [VARIABLE [NODE...]]\n",
        stderr);
  }
  if (fflush(stdout) != 0 && status == 0) return k_cannot_write;
  return status;
}
