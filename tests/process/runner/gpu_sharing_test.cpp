/// `kgen-gpu sharing` with the HIP of tests/support/fake_hip.c, which KGEN_HIP_LIBRARY names: that of ROCm 5, 6 and 7.
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "support/catch.hpp"

namespace {

struct Answer {
  int exit_code = -1;
  std::string text;
};

const std::string k_uuid = "GPU-5d1ce9a3b2f40617";

std::string library() { return std::getenv("KGEN_HIP_LIBRARY"); }

/// The major version of ROCm.
char version() { return library()[library().find("fake_hip_") + 9]; }

/// Variables of a shell that give the device memory which another process can reach by a handle, as on a machine.
std::string pool() { return "KGEN_FAKE_HIP_POOL=1 LD_PRELOAD=" + library() + " "; }

/// Runs kgen-gpu with more variables; its output and errors.
Answer find_sharing(const std::string& variables = "", const std::string& uuid = k_uuid) {
  const auto folder = library().substr(0, library().rfind('/'));
  const auto command = "LD_LIBRARY_PATH=" + folder + " " + variables + KGEN_TEST_GPU_PROBE " sharing " + uuid +
                       " ROCR_VISIBLE_DEVICES 2>&1";
  FILE* pipe = popen(command.c_str(), "r");
  REQUIRE(pipe != nullptr);
  Answer answer;
  std::array<char, 1024> text{};
  while (fgets(text.data(), text.size(), pipe) != nullptr) answer.text += text.data();
  const int status = pclose(pipe);
  if (WIFEXITED(status)) answer.exit_code = WEXITSTATUS(status);
  return answer;
}

/// Whether this machine gives processes a PID namespace of their own.
bool has_namespaces() {
  const pid_t child = fork();
  if (child == 0) _exit(unshare(CLONE_NEWPID) == 0 || unshare(CLONE_NEWUSER | CLONE_NEWPID) == 0 ? 0 : 1);
  int status = -1;
  return waitpid(child, &status, 0) == child && status == 0;
}

}  // namespace

TEST_CASE("sharing: virtual memory is the first choice where the driver exports it", "[hip]") {
  const auto found = find_sharing(pool());
  INFO(found.text);
  CHECK(found.exit_code == 0);
  if (version() == '7') {
    CHECK(found.text == "{\"refused\": \"\", \"sharing\": \"virtual_memory\"}\n");
  } else {
    CHECK(found.text.find("{\"refused\": \"virtual_memory: ") == 0);
    CHECK(found.text.find("(801)\", \"sharing\": \"ipc_handle\"}\n") != std::string::npos);
  }
}

TEST_CASE("sharing: the handle is taken where any step with virtual memory fails", "[hip]") {
  if (version() != '7') return;
  const auto refused = [](const std::string& step) {
    const auto found = find_sharing(pool() + "KGEN_FAKE_HIP_REFUSES=" + step + " ");
    INFO(step << ": " << found.text);
    CHECK(found.exit_code == 0);
    CHECK(found.text.find("\"sharing\": \"ipc_handle\"}") != std::string::npos);
    return found.text.substr(0, found.text.find("\","));
  };
  const std::string begin = "{\"refused\": \"virtual_memory: ";
  CHECK(refused("export") == begin + "exporting shared memory: a fake error (1)");
  CHECK(refused("import") == begin + "importing shared memory: a fake error (1)");
  CHECK(refused("map") == begin + "mapping shared memory: a fake error (1)");
  CHECK(refused("contents") == begin + "one process does not see what the other writes");
  CHECK(refused("answer") == begin + "the importing process ended");
}

TEST_CASE("sharing: without any way that works there is one line with the reasons and what helps", "[hip]") {
  if (!has_namespaces()) return;
  // Without the pool, a handle means nothing in the PID namespace of a runner.
  const auto found = find_sharing("KGEN_FAKE_HIP_REFUSES=import ");
  INFO(found.text);
  CHECK(found.exit_code == 69);
  CHECK(found.text.find("kgen-gpu: no way of sharing its memory with a sandboxed process works (virtual_memory: ") ==
        0);
  CHECK(found.text.find("; ipc_handle: mapping shared memory: a fake error (1)); install ROCm 7.1 or newer") !=
        std::string::npos);
  CHECK(found.text.find('\n') == found.text.size() - 1);
}

TEST_CASE("sharing: a device that cannot be opened says nothing about sharing", "[hip]") {
  const auto none = find_sharing("", "GPU-none");
  CHECK(none.exit_code == 75);
  CHECK(none.text == "kgen-gpu: virtual_memory: there is no GPU GPU-none\n");
}
