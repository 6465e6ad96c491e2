#include "driver.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace kgen_test {
namespace {

constexpr std::size_t k_page = 4096;
constexpr std::size_t k_offset = k_page - (k_count * sizeof(float) + 63) / 64 * 64;

[[noreturn]] void die(const char* what) {
  std::perror(what);
  std::abort();
}

/// Runs between fork and exec: only system calls.
void refuse_namespaces() {
  std::array<sock_filter, 5> filter{{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_unshare, 1, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_setns, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  }};
  const sock_fprog program{filter.size(), filter.data()};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
}

bool readable(int fd, std::chrono::milliseconds timeout) {
  pollfd entry{fd, POLLIN, 0};
  return poll(&entry, 1, static_cast<int>(timeout.count())) == 1;
}

std::optional<kgen_status_record> read_record(int fd, std::chrono::milliseconds timeout) {
  kgen_status_record record{};
  if (!readable(fd, timeout) || read(fd, &record, sizeof record) != sizeof record) return std::nullopt;
  if (record.magic != KGEN_STATUS_MAGIC) return std::nullopt;
  return record;
}

}  // namespace

SharedMemory::SharedMemory(std::size_t bytes) : bytes_(bytes) {
  fd_ = memfd_create("kgen-test", MFD_CLOEXEC);
  if (fd_ < 0 || ftruncate(fd_, static_cast<off_t>(bytes)) != 0) die("memfd");
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
  if (memory == MAP_FAILED) die("mmap");
  data_ = static_cast<char*>(memory);
}

SharedMemory::SharedMemory(std::string_view text) : SharedMemory(text.size()) {
  std::memcpy(data_, text.data(), text.size());
}

SharedMemory::~SharedMemory() {
  munmap(data_, bytes_);
  close(fd_);
}

namespace {

std::string make_job(const std::string& head) {
  std::string text = head;
  const std::array<const char*, 3> tensors{"input x", "parameter layer.w", "output y"};
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    text += std::string("tensor ") + tensors[i] + " float32 1 1000 1 " + std::to_string(i * k_page) + " 4096 " +
            std::to_string(k_offset) + " 4000\n";
  }
  return text +
         "absent input mask\nscalar input mode str two%20words\nscalar init n int 1000\n"
         "scalar init scale float 0.5\nend\n";
}

}  // namespace

std::string job_text(int threads, int slots) {
  return make_job("kgen-job 1\nthreads " + std::to_string(threads) + "\narena " + std::to_string(slots * k_slot_bytes) +
                  "\nslots " + std::to_string(slots) + " " + std::to_string(k_slot_bytes) + "\n");
}

std::string device_job_text(const std::string& uuid, int slots) {
  return make_job("kgen-job 1\nthreads 2\narena 4096\nslots " + std::to_string(slots) + " " +
                  std::to_string(k_slot_bytes) + "\ndevice fake " + uuid + " " + std::to_string(slots * k_slot_bytes) +
                  "\n");
}

Runner::Runner(LaunchOptions options) : arena_(k_most_slots * k_slot_bytes) {
  prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  std::array<int, 2> control{};
  std::array<int, 2> status{};
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control.data()) != 0) die("socketpair");
  if (pipe2(status.data(), O_CLOEXEC) != 0) die("pipe");
  std::vector<std::string> words{KGEN_TEST_RUNNER, "--control", std::to_string(control[1]), "--status",
                                 std::to_string(status[1])};
  words.insert(words.end(), options.arguments.begin(), options.arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const auto start = std::chrono::steady_clock::now();
  const pid_t child = fork();
  if (child < 0) die("fork");
  if (child == 0) {
    fcntl(control[1], F_SETFD, 0);
    fcntl(status[1], F_SETFD, 0);
    if (options.refuse_namespaces) refuse_namespaces();
    execv(argv[0], argv.data());
    _exit(127);
  }
  close(control[1]);
  close(status[1]);
  control_ = control[0];
  status_ = status[0];
  if (auto record = read_record(status_, 20s); record && record->what == KGEN_SUPERVISOR_STARTED) {
    supervisor_ = static_cast<int>(record->value);
  }
  if (auto reply = receive(); reply && reply->op == KGEN_OP_HELLO) hello_ = *reply;
  startup_ = std::chrono::steady_clock::now() - start;
  for (std::size_t i = 0; i < k_count; ++i) {
    x()[i] = static_cast<float>(i);
    w()[i] = 2.0f;
  }
}

Runner::~Runner() {
  if (!kill_and_reap()) std::fprintf(stderr, "a process of the runner survived\n");
  close(control_);
  close(status_);
}

std::optional<kgen_reply> Runner::receive(std::chrono::milliseconds timeout) {
  kgen_reply reply{};
  if (!readable(control_, timeout) || recv(control_, &reply, sizeof reply, 0) != sizeof reply) return std::nullopt;
  if (reply.magic != KGEN_REPLY_MAGIC || reply.version != KGEN_RUNNER_PROTOCOL_VERSION) return std::nullopt;
  return reply;
}

bool Runner::send_bytes(const void* bytes, std::size_t size, const std::vector<int>& fds) {
  iovec buffer{const_cast<void*>(bytes), size};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(16 * sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &buffer;
  message.msg_iovlen = 1;
  if (!fds.empty()) {
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(fds.size() * sizeof(int));
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(fds.size() * sizeof(int));
    std::memcpy(CMSG_DATA(header), fds.data(), fds.size() * sizeof(int));
  }
  return sendmsg(control_, &message, MSG_NOSIGNAL) == static_cast<ssize_t>(size);
}

bool Runner::send(std::uint16_t op, std::vector<std::uint64_t> arguments, const std::vector<int>& fds) {
  kgen_command command{};
  command.magic = KGEN_COMMAND_MAGIC;
  command.version = KGEN_RUNNER_PROTOCOL_VERSION;
  command.op = op;
  command.sequence = ++sequence_;
  for (std::size_t i = 0; i < arguments.size(); ++i) command.arg[i] = arguments[i];
  return send_bytes(&command, sizeof command, fds);
}

std::optional<kgen_reply> Runner::ask(std::uint16_t op, std::vector<std::uint64_t> arguments,
                                      const std::vector<int>& fds) {
  if (!send(op, std::move(arguments), fds)) return std::nullopt;
  return receive();
}

std::optional<kgen_reply> Runner::load(const std::string& candidate, int threads) {
  return load(candidate, job_text(threads), {});
}

std::optional<kgen_reply> Runner::load(const std::string& candidate, const std::string& text,
                                       const std::vector<int>& more_fds) {
  const SharedMemory job{std::string_view(text)};
  const std::string path = std::string(KGEN_TEST_CANDIDATES) + "/" + candidate + ".so";
  std::ifstream file(path, std::ios::binary);
  if (!file) die(path.c_str());
  const std::string content{std::istreambuf_iterator<char>(file), {}};
  const SharedMemory code{std::string_view(content)};
  std::vector<int> fds{job.fd(), arena_.fd()};
  fds.insert(fds.end(), more_fds.begin(), more_fds.end());
  return load_code(fds, code.fd());
}

std::optional<kgen_reply> Runner::load_code(const std::vector<int>& job_fds, int code_fd) {
  auto reply = ask(KGEN_OP_JOB, {}, job_fds);
  if (!reply || reply->status != KGEN_STATUS_OK) return reply;
  return ask(KGEN_OP_LOAD, {KGEN_CODE_SHARED_OBJECT}, {code_fd});
}

std::optional<kgen_reply> Runner::evaluate(const std::string& candidate, std::uint64_t flags) {
  auto reply = load(candidate);
  if (!reply || reply->status != KGEN_STATUS_OK) return reply;
  reply = ask(KGEN_OP_PREPARE, {1});
  if (!reply || reply->status != KGEN_STATUS_OK) return reply;
  return ask(KGEN_OP_RUN, {1, 0, flags});
}

std::optional<int> Runner::wait_status(std::chrono::milliseconds timeout) {
  const auto record = read_record(status_, timeout);
  if (!record || record->what != KGEN_SUPERVISOR_ENDED) return std::nullopt;
  return static_cast<int>(record->value);
}

bool Runner::kill_and_reap() {
  if (supervisor_ > 0) kill(supervisor_, SIGKILL);
  supervisor_ = -1;
  return reap_everything();
}

float* Runner::x(std::size_t slot) const { return x_of(arena_.data() + slot * k_slot_bytes); }
float* Runner::y(std::size_t slot) const { return y_of(arena_.data() + slot * k_slot_bytes); }
float* Runner::x_of(char* arena) { return reinterpret_cast<float*>(arena + k_offset); }
float* Runner::w_of(char* arena) { return reinterpret_cast<float*>(arena + k_page + k_offset); }
float* Runner::y_of(char* arena) { return reinterpret_cast<float*>(arena + 2 * k_page + k_offset); }

std::string text_of(const kgen_reply& reply) {
  return {reply.text, std::min<std::size_t>(reply.text_length, sizeof reply.text)};
}

bool reap_everything(std::chrono::milliseconds timeout) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  for (;;) {
    const pid_t pid = waitpid(-1, nullptr, WNOHANG);
    if (pid < 0 && errno == ECHILD) return true;
    if (pid > 0) continue;
    if (std::chrono::steady_clock::now() > deadline) return false;
    usleep(500);
  }
}

}  // namespace kgen_test
