#define _GNU_SOURCE
#include "gpu_sharing.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../sandbox.h"
#include "../sandbox_parts.h"
#include "gpu_parts.h"

enum { k_block_bytes = 1 << 16, k_most_folders = 64, k_patience_seconds = 40 };

static const unsigned char k_exported = 0x5A;
static const unsigned char k_imported = 0xC3;

/* What a process answers. */
struct answer {
  enum kgen_sharing_result result;
  char text[320];
};

static void set_answer(struct answer* answer, enum kgen_sharing_result result, const char* text) {
  answer->result = result;
  snprintf(answer->text, sizeof answer->text, "%s", text);
}

static struct kgen_gpu* open_gpu(const struct kgen_gpu_location* location, struct answer* answer) {
  char error[256] = "";
  if (location->variable[0] != '\0') setenv(location->variable, location->uuid, 1);
  struct kgen_gpu* gpu = kgen_gpu_open(location->uuid, error, sizeof error);
  if (gpu == NULL) set_answer(answer, KGEN_SHARING_UNKNOWN, error);
  return gpu;
}

/* An error of the GPU's; a lack of memory says nothing about sharing. */
static void set_failure(struct answer* answer, const struct kgen_gpu* gpu, int status) {
  set_answer(answer, status == CU_OUT_OF_MEMORY ? KGEN_SHARING_UNKNOWN : KGEN_SHARING_REFUSED, kgen_gpu_error(gpu));
}

/* Fills the block, after the last byte of it was what the other process has written. Returns 1 if it was. */
static int exchange(struct kgen_gpu* gpu, void* block, unsigned char expected, unsigned char written,
                    struct answer* answer) {
  unsigned char found = 0;
  int status = kgen_gpu_read(gpu, &found, (const char*)block + k_block_bytes - 1, 1);
  if (status == 0 && found != expected) {
    set_answer(answer, KGEN_SHARING_REFUSED, "one process does not see what the other writes");
    return 0;
  }
  if (status == 0) status = kgen_gpu_fill(gpu, block, written, k_block_bytes, NULL);
  if (status == 0) status = kgen_gpu_synchronize(gpu);
  if (status != 0) set_failure(answer, gpu, status);
  return status == 0;
}

/* -- the runner's side --------------------------------------------------------------------------------------------- */

/* Folders of drivers besides the system's, as for runners; the list is changed. */
static void list_folders(char* list, const char* folders[k_most_folders + 1]) {
  size_t count = 0;
  char* rest = NULL;
  for (char* at = strtok_r(list, ":", &rest); at != NULL && count < k_most_folders; at = strtok_r(NULL, ":", &rest)) {
    if (at[0] == '/') folders[count++] = at;
  }
  folders[count] = NULL;
}

static void enter_sandbox(const struct kgen_gpu_location* location, int socket) {
  const char* folders[k_most_folders + 1];
  const char* told = getenv("LD_LIBRARY_PATH");
  char* list = strdup(told != NULL ? told : "");
  if (list == NULL) _exit(1);
  list_folders(list, folders);
  const struct kgen_sandbox_options options = {.struct_size = sizeof options,
                                               .visible_paths = folders,
                                               .devices = location->nodes,
                                               .keep_fds = &socket,
                                               .keep_fd_count = 1,
                                               .sockets_at_first = 1};
  if (kgen_sandbox_enter(-1, &options, NULL) != 0) _exit(1);
  free(list);
}

static void import_block(const struct kgen_gpu_location* location, int socket, struct answer* answer) {
  struct kgen_gpu* gpu = open_gpu(location, answer);
  kgen_sandbox_driver_started();
  if (gpu == NULL) return;
  void* block = NULL;
  const int fd = kgen_take_over(socket);
  if (fd < 0) return;
  const int status = kgen_gpu_import_shared(gpu, fd, k_block_bytes, &block);
  if (status != 0) {
    set_failure(answer, gpu, status);
  } else if (exchange(gpu, block, k_exported, k_imported, answer)) {
    answer->result = KGEN_SHARING_WORKS;
  }
}

static _Noreturn void run_importer(const struct kgen_gpu_location* location, int socket) {
  struct answer answer = {KGEN_SHARING_REFUSED, ""};
  enter_sandbox(location, socket);
  alarm(k_patience_seconds);
  import_block(location, socket, &answer);
  const ssize_t sent = send(socket, &answer, sizeof answer, MSG_NOSIGNAL);
  _exit(sent == (ssize_t)sizeof answer ? 0 : 1);
}

/* -- the judge's side ---------------------------------------------------------------------------------------------- */

static void export_block(const struct kgen_gpu_location* location, const char* way, int socket, struct answer* answer) {
  struct kgen_gpu* gpu = open_gpu(location, answer);
  if (gpu == NULL) return;
  void* block = NULL;
  int fd = -1;
  int status = kgen_gpu_choose_sharing(gpu, way);
  if (status == 0) status = kgen_gpu_allocate_shared(gpu, k_block_bytes, &block, &fd);
  if (status == 0) status = kgen_gpu_fill(gpu, block, k_exported, k_block_bytes, NULL);
  if (status == 0) status = kgen_gpu_synchronize(gpu);
  if (status != 0) {
    set_failure(answer, gpu, status);
    return;
  }
  kgen_hand_over(socket, fd);
  if (recv(socket, answer, sizeof *answer, MSG_WAITALL) != (ssize_t)sizeof *answer) {
    set_answer(answer, KGEN_SHARING_REFUSED, "the importing process ended");
  } else if (answer->result == KGEN_SHARING_WORKS && !exchange(gpu, block, k_imported, k_exported, answer)) {
    answer->result = KGEN_SHARING_REFUSED;
  }
}

/* What a driver prints is no answer of kgen-gpu's. */
static void drop_output(void) {
  const int nothing = open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (nothing < 0 || dup2(nothing, STDOUT_FILENO) < 0 || dup2(nothing, STDERR_FILENO) < 0) _exit(1);
}

static _Noreturn void run_exporter(const struct kgen_gpu_location* location, const char* way, int out) {
  struct answer answer = {KGEN_SHARING_REFUSED, ""};
  int ends[2];
  drop_output();
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) _exit(1);
  const pid_t importer = fork(); /* before a driver is loaded: none survives a fork */
  if (importer < 0) _exit(1);
  if (importer == 0) {
    close(ends[0]);
    close(out);
    run_importer(location, ends[1]);
  }
  close(ends[1]);
  alarm(k_patience_seconds);
  export_block(location, way, ends[0], &answer);
  const ssize_t told = write(out, &answer, sizeof answer);
  _exit(told == (ssize_t)sizeof answer ? 0 : 1);
}

/* A driver may end its process, or never answer. */
static void describe_end(struct answer* answer, int status) {
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM) {
    set_answer(answer, KGEN_SHARING_REFUSED, "the driver did not answer");
  } else if (WIFSIGNALED(status)) {
    snprintf(answer->text, sizeof answer->text, "the driver ended its process with signal %d", WTERMSIG(status));
  } else {
    set_answer(answer, KGEN_SHARING_UNKNOWN, "its process could not be started");
  }
}

static struct answer try_way(const struct kgen_gpu_location* location, const char* way) {
  struct answer answer = {KGEN_SHARING_REFUSED, ""};
  int ends[2];
  int status = 0;
  int exporter_status = 0;
  pid_t ended;
  if (pipe(ends) != 0) {
    set_answer(&answer, KGEN_SHARING_UNKNOWN, "no pipe");
    return answer;
  }
  const pid_t exporter = fork();
  if (exporter == 0) {
    close(ends[0]);
    run_exporter(location, way, ends[1]);
  }
  close(ends[1]);
  const int is_told = exporter > 0 && read(ends[0], &answer, sizeof answer) == (ssize_t)sizeof answer;
  close(ends[0]);
  /* What the sandbox leaves behind comes here, because this process is a subreaper. */
  while ((ended = wait(&status)) > 0) {
    if (ended == exporter) exporter_status = status;
  }
  if (!is_told) describe_end(&answer, exporter_status);
  return answer;
}

enum kgen_sharing_result kgen_gpu_try_sharing(const struct kgen_gpu_location* location, const char** way, char* text,
                                              size_t capacity) {
  static const char* const k_ways[] = {"virtual_memory", "ipc_handle"};
  text[0] = '\0';
  prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  for (size_t i = 0; i < sizeof k_ways / sizeof *k_ways; ++i) {
    const struct answer answer = try_way(location, k_ways[i]);
    *way = k_ways[i];
    if (answer.result == KGEN_SHARING_WORKS) return KGEN_SHARING_WORKS;
    const size_t length = strlen(text);
    snprintf(text + length, capacity - length, "%s%s: %s", length > 0 ? "; " : "", k_ways[i], answer.text);
    if (answer.result == KGEN_SHARING_UNKNOWN) return KGEN_SHARING_UNKNOWN;
  }
  return KGEN_SHARING_REFUSED;
}
