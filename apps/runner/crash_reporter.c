#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runner_protocol.h"
#include "runner_support.h"

/* Everything here runs in a signal handler: no allocation, no stdio. */

enum { k_regions = 4096, k_name_bytes = 201, k_stack_bytes = 64 * 1024 };

/* A device rounds an allocation up by megabytes, and what lies beyond is the first that faults. */
enum { k_near_bytes = 1 << 20, k_near_on_device = 4 << 20 };

struct region {
  uintptr_t begin;
  uintptr_t end;
  char name[k_name_bytes];
};

static struct region* regions; /* mapped lazily: most runners need a page or two of it */
static size_t region_count;
static int crash_control_fd = -1;
static pid_t crash_process;
static const volatile uint64_t* crash_failed_allocation;
static int error_output = -1; /* see kgen_keep_error_output */
static atomic_flag crash_reported = ATOMIC_FLAG_INIT;
static const int k_signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS};

struct writer {
  char* text;
  size_t capacity;
  size_t length;
};

static void put(struct writer* writer, const char* text) {
  while (*text != '\0' && writer->length + 1 < writer->capacity) writer->text[writer->length++] = *text++;
  if (writer->capacity > 0) writer->text[writer->length] = '\0';
}

static void put_number(struct writer* writer, uint64_t value, unsigned base) {
  char digits[24];
  size_t at = sizeof digits - 1;
  digits[at] = '\0';
  do {
    digits[--at] = "0123456789abcdef"[value % base];
    value /= base;
  } while (value != 0);
  put(writer, digits + at);
}

int kgen_crash_reporter_add(const void* address, size_t bytes, const char* name) {
  if (regions == NULL) {
    void* memory = mmap(NULL, k_regions * sizeof *regions, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return -errno;
    regions = memory;
  }
  if (region_count == k_regions) return -ENOSPC;
  struct region* region = &regions[region_count];
  region->begin = (uintptr_t)address;
  region->end = region->begin + bytes;
  struct writer writer = {region->name, sizeof region->name, 0};
  put(&writer, name);
  ++region_count;
  return 0;
}

void kgen_crash_reporter_clear(void) { region_count = 0; }

static uintptr_t distance(uintptr_t at, const struct region* region) {
  if (at < region->begin) return region->begin - at;
  return at < region->end ? 0 : at - region->end;
}

static void describe(struct writer* writer, uintptr_t at, uintptr_t near_bytes) {
  const struct region* nearest = NULL;
  for (size_t i = 0; i < region_count; ++i) {
    if (nearest == NULL || distance(at, &regions[i]) < distance(at, nearest)) nearest = &regions[i];
  }
  put(writer, "address 0x");
  put_number(writer, at, 16);
  if (at < 65536) {
    put(writer, ", a null pointer");
  } else if (nearest != NULL && distance(at, nearest) < near_bytes) {
    put(writer, ", ");
    if (at >= nearest->begin && at < nearest->end) {
      put_number(writer, at - nearest->begin, 10);
      put(writer, " bytes into ");
    } else {
      put_number(writer, distance(at, nearest), 10);
      put(writer, at < nearest->begin ? " bytes before the start of " : " bytes past the end of ");
    }
    put(writer, nearest->name);
  } else {
    put(writer, ", near no tensor");
  }
}

void kgen_describe_address(const void* address, char* text, size_t capacity) {
  struct writer writer = {text, capacity, 0};
  if (capacity > 0) text[0] = '\0';
  describe(&writer, (uintptr_t)address, k_near_bytes);
}

/* -- faults of a device, as ROCm's runtime tells them before it aborts ----------------------------------------------
 */

/* How its lines begin, after a prefix with file, line and time. */
static const char* const k_fault_words[] = {"Memory access fault by GPU", "HW Exception by GPU",
                                            "Device-side assertion", "HSA_STATUS_ERROR_"};

int kgen_keep_error_output(void) {
  const int fd = open("/tmp", O_TMPFILE | O_RDWR | O_APPEND | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (fd < 0) return -errno;
  if (dup2(fd, STDERR_FILENO) < 0) {
    const int error = errno;
    close(fd);
    return -error;
  }
  error_output = fd;
  return 0;
}

void kgen_forward_error_output(void) {
  char text[4096];
  struct stat file;
  if (error_output < 0 || fstat(error_output, &file) != 0 || file.st_size == 0) return;
  off_t at = 0;
  ssize_t count;
  while ((count = pread(error_output, text, sizeof text, at)) > 0) {
    const ssize_t written = write(STDOUT_FILENO, text, (size_t)count);
    (void)written; /* a full log drops it */
    at += count;
  }
  const int truncated = ftruncate(error_output, 0);
  (void)truncated;
}

/* The first line of the last kilobytes of standard error that tells of a fault, from those words on; NULL without one.
 */
static const char* find_fault(void) {
  static char text[16384 + 1];
  struct stat file;
  if (error_output < 0 || fstat(error_output, &file) != 0) return NULL;
  const off_t most = sizeof text - 1;
  const ssize_t count = pread(error_output, text, (size_t)most, file.st_size > most ? file.st_size - most : 0);
  if (count <= 0) return NULL;
  for (ssize_t i = 0; i < count; ++i) {
    if (text[i] == '\0') text[i] = ' ';
  }
  text[count] = '\0';
  char* first = NULL;
  for (size_t i = 0; i < sizeof k_fault_words / sizeof *k_fault_words; ++i) {
    char* found = strstr(text, k_fault_words[i]);
    if (found != NULL && (first == NULL || found < first)) first = found;
  }
  if (first != NULL) first[strcspn(first, "\n")] = '\0';
  return first;
}

/* The number behind "on address 0x"; "(nil)" stands for 0. Returns 0 where there is none. */
static int read_address(const char* line, uintptr_t* address) {
  static const char k_before[] = "on address ";
  const char* at = strstr(line, k_before);
  if (at == NULL) return 0;
  at += sizeof k_before - 1;
  *address = 0;
  if (strncmp(at, "(nil)", 5) == 0) return 1;
  if (strncmp(at, "0x", 2) != 0) return 0;
  for (at += 2;; ++at) {
    const int is_digit = *at >= '0' && *at <= '9';
    if (!is_digit && (*at < 'a' || *at > 'f')) return 1;
    *address = *address * 16 + (uintptr_t)(is_digit ? *at - '0' : *at - 'a' + 10);
  }
}

/* A device tells the page of an access and not its address. */
static void report_fault(struct kgen_reply* reply, struct writer* writer, const char* line) {
  uintptr_t page = 0;
  reply->status = KGEN_STATUS_DEVICE_FAULT;
  put(writer, line);
  if (!read_address(line, &page)) return;
  reply->arg[0] = page;
  put(writer, " The page is at ");
  describe(writer, page, k_near_on_device);
}

/* -- the handler --------------------------------------------------------------------------------------------------- */

static const char* signal_text(int number) {
  switch (number) {
    case SIGSEGV:
      return "SIGSEGV";
    case SIGBUS:
      return "SIGBUS";
    case SIGFPE:
      return "SIGFPE (integer division by zero?)";
    case SIGILL:
      return "SIGILL (an instruction that this processor lacks, or a trap of the compiler)";
    case SIGABRT:
      return "SIGABRT (abort was called)";
    case SIGTRAP:
      return "SIGTRAP";
    default:
      return "SIGSYS";
  }
}

static void report_signal(struct kgen_reply* reply, struct writer* writer, int number, const siginfo_t* info) {
  const uint64_t refused = crash_failed_allocation != NULL ? *crash_failed_allocation : 0;
  const int has_address = number == SIGSEGV || number == SIGBUS;
  reply->status = refused != 0 ? KGEN_STATUS_OUT_OF_MEMORY : KGEN_STATUS_FAILED;
  reply->arg[0] = has_address ? (uint64_t)(uintptr_t)info->si_addr : 0;
  reply->arg[1] = refused;
  put(writer, signal_text(number));
  if (has_address) {
    put(writer, " at ");
    /* si_code SI_KERNEL: a non-canonical address, which the processor does not report. */
    if (number == SIGSEGV && info->si_code == SI_KERNEL) {
      put(writer, "a wild address");
    } else {
      describe(writer, (uintptr_t)info->si_addr, k_near_bytes);
    }
  }
  if (refused != 0) {
    put(writer, " after an allocation of ");
    put_number(writer, refused, 10);
    put(writer, " bytes was refused");
  }
}

static void on_crash(int number, siginfo_t* info, void* context) {
  (void)context;
  static struct kgen_reply reply; /* too large for the little stack */
  /* Processes that a candidate forked have these handlers, too, and may die without harm. */
  if (getpid() == crash_process && !atomic_flag_test_and_set(&crash_reported)) {
    memset(&reply, 0, sizeof reply);
    reply.magic = KGEN_REPLY_MAGIC;
    reply.version = KGEN_RUNNER_PROTOCOL_VERSION;
    reply.op = KGEN_OP_CRASH;
    reply.detail = (uint32_t)number;
    struct writer writer = {reply.text, sizeof reply.text, 0};
    const char* fault = number == SIGABRT ? find_fault() : NULL;
    if (fault != NULL) {
      report_fault(&reply, &writer, fault);
    } else {
      report_signal(&reply, &writer, number, info);
    }
    reply.text_length = (uint32_t)writer.length;
    kgen_forward_error_output();
    send(crash_control_fd, &reply, sizeof reply, MSG_NOSIGNAL | MSG_DONTWAIT);
  }
  /* If the report gets lost, the wait status shows the signal. The action is the default one by now. */
  raise(number);
}

int kgen_install_crash_reporter(int control_fd, const volatile uint64_t* failed_allocation) {
  crash_control_fd = control_fd;
  crash_process = getpid();
  crash_failed_allocation = failed_allocation;
  static void* memory;
  if (memory == NULL) {
    memory = mmap(NULL, k_stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
      memory = NULL;
      return -errno;
    }
  }
  stack_t stack;
  memset(&stack, 0, sizeof stack);
  stack.ss_sp = memory;
  stack.ss_size = k_stack_bytes;
  if (sigaltstack(&stack, NULL) != 0) return -errno;
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = on_crash;
  action.sa_flags = (int)(SA_SIGINFO | SA_ONSTACK | SA_RESETHAND);
  sigemptyset(&action.sa_mask);
  for (size_t i = 0; i < sizeof k_signals / sizeof k_signals[0]; ++i) {
    if (sigaction(k_signals[i], &action, NULL) != 0) return -errno;
  }
  return 0;
}
