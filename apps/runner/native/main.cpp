/// \file
/// kgen-runner: enters the sandbox, sends HELLO, and serves one candidate, a shared object. main -> sandbox -> crash
/// reporter -> HELLO -> { recv command -> Session::handle -> send reply }* -> EOF

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include <kernelgen/abi.h>

#include "../runner_support.h"
#include "allocation_watch.h"
#include "channel.hpp"
#include "device.hpp"
#include "emulated_device.hpp"
#include "options.hpp"
#include "session.hpp"

#if defined(__SANITIZE_ADDRESS__)
// Leak detection stops the process with ptrace, which the sandbox refuses.
// NOLINTNEXTLINE(bugprone-reserved-identifier,readability-identifier-naming): the sanitizer looks for this name
extern "C" __attribute__((visibility("default"))) const char* __asan_default_options() { return "detect_leaks=0"; }
#endif

namespace {

using namespace kgen_runner;

constexpr int k_exit_usage = 64;
constexpr int k_exit_lacking = 69;
constexpr int k_exit_bug = 70;

/// The candidate's output goes to the log, or nowhere. A full pipe drops it.
void redirect_output(const Options& options) {
  const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
  const int out = options.log.value_or(nothing);
  if (options.log) fcntl(out, F_SETFL, fcntl(out, F_GETFL) | O_NONBLOCK);
  dup2(nothing, STDIN_FILENO);
  dup2(out, STDOUT_FILENO);
  dup2(out, STDERR_FILENO);
}

std::vector<const char*> pointers(const std::vector<std::string>& texts) {
  std::vector<const char*> result;
  result.reserve(texts.size() + 1);
  for (const std::string& text : texts) result.push_back(text.c_str());
  result.push_back(nullptr);
  return result;
}

/// Folders of libraries besides the system's: those of drivers, and what candidates are linked with.
std::vector<std::string> library_folders() {
  std::vector<std::string> folders;
  const char* list = std::getenv("LD_LIBRARY_PATH");
  std::istringstream parts(list != nullptr ? list : "");
  for (std::string folder; std::getline(parts, folder, ':');) {
    if (folder.starts_with('/')) folders.push_back(folder);
  }
  return folders;
}

std::uint32_t enter_sandbox(const Options& options) {
  const std::vector<const char*> hidden = pointers(options.hidden);
  std::vector<std::string> shown = options.visible;
  if (options.cupti) shown.push_back(options.cupti->substr(0, options.cupti->rfind('/')));
  for (std::string& folder : library_folders()) shown.push_back(std::move(folder));
  const std::vector<const char*> visible = pointers(shown);
  const std::array<int, 1> kept{options.control};
  kgen_sandbox_options sandbox{};
  sandbox.struct_size = sizeof sandbox;
  sandbox.scratch_bytes = options.scratch_bytes;
  const std::vector<const char*> devices = pointers(options.gpu_nodes);
  sandbox.devices = devices.data();
  sandbox.sockets_at_first = options.gpu || options.emulator ? 1 : 0;
  sandbox.hidden_paths = hidden.data();
  sandbox.visible_paths = visible.data();
  sandbox.keep_fds = kept.data();
  sandbox.keep_fd_count = kept.size();
  std::uint32_t isolation = 0;
  if (kgen_sandbox_enter(options.status, &sandbox, &isolation) != 0) std::exit(k_exit_lacking);
  return isolation;
}

int serve(const Options& options, std::uint32_t isolation) {
  const Channel channel(options.control);
  kgen_reply hello = make_reply(KGEN_OP_HELLO, 0);
  hello.arg[0] = KGEN_ABI_VERSION;
  hello.arg[1] = isolation;
  hello.arg[2] = static_cast<std::uint64_t>(getpid());
  if ((options.gpu || options.emulator) && (isolation & KGEN_ISOLATION_MOUNT) != 0) kgen_keep_error_output();
  std::unique_ptr<Device> device;
  if (options.gpu) {
    std::string error;
    // Restricts the candidate's runtime to this device.
    if (options.gpu_variable) setenv(options.gpu_variable->c_str(), options.gpu->c_str(), 1);
    if (options.cupti) setenv("KGEN_CUPTI", options.cupti->c_str(), 1);
    device = Device::open(*options.gpu, error);
    kgen_sandbox_driver_started();
    if (!device) {
      hello.status = KGEN_STATUS_DEVICE_FAULT;
      set_text(hello, error);
    }
  }
  std::unique_ptr<EmulatedDevice> emulated;
  if (options.emulator) {
    std::string error;
    emulated = EmulatedDevice::open(*options.emulator, error);
    kgen_sandbox_driver_started();
    if (!emulated) {
      hello.status = KGEN_STATUS_DEVICE_FAULT;
      set_text(hello, "the emulator does not start: " + error);
    }
  }
  Session session({.memory_bytes = options.memory_bytes, .device = device.get(), .emulated = emulated.get()});
  kgen_install_crash_reporter(options.control, &kgen_failed_allocation);
  if (!channel.send(hello) || hello.status != KGEN_STATUS_OK) return k_exit_lacking;
  std::int64_t cpu_when_idle = kgen_process_cpu_ns();
  while (std::optional<Command> command = channel.receive()) {
    const std::int64_t idle_cpu = kgen_process_cpu_ns() - cpu_when_idle;
    kgen_forward_error_output();
    kgen_reply reply = session.handle(*command);
    if (command->record.op == KGEN_OP_RUN) reply.arg[0] = static_cast<std::uint64_t>(idle_cpu);
    if (!channel.send(reply)) break;
    cpu_when_idle = kgen_process_cpu_ns();
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) try {
  OptionsResult parsed = parse_options(argc, argv);
  if (!parsed.options) {
    std::fprintf(stderr, "kgen-runner: %s\n", parsed.error.c_str());
    return k_exit_usage;
  }
  const Options& options = *parsed.options;
  std::signal(SIGPIPE, SIG_IGN);
  setenv("OMP_NUM_THREADS", std::to_string(options.threads).c_str(), 1);
  redirect_output(options);
  const int answer = serve(options, enter_sandbox(options));
  // Destructors and exit handlers may belong to the candidate, and are not waited for.
  _exit(answer);
} catch (const std::exception& error) {
  std::fprintf(stderr, "kgen-runner: %s\n", error.what());
  return k_exit_bug;
}
