#include <unistd.h>

#include <cstdio>
#include <exception>
#include <filesystem>
#include <iostream>
#include <memory>

#include <kernelgen/llm/providers.hpp>

#include "commands.hpp"
#include "interrupt.hpp"
#include "support/try.hpp"

using namespace kernelgen;
using namespace kernelgen::cli;

int main(int argc, char** argv) try {
  const Interruption interruption;
  const auto processes = make_process_runner();
  const auto variables = current_environment();
  auto environment = read_environment(variables);
  const std::filesystem::path providers_file = environment.providers_file;
  // All models of a command share the limits of their servers.
  std::shared_ptr<ServerTraffic> traffic;
  const auto out_terminal = inspect_terminal(STDOUT_FILENO, environment.no_color, environment.columns);
  const auto err_terminal = inspect_terminal(STDERR_FILENO, environment.no_color, environment.columns);
  Context context{
      .environment = std::move(environment),
      .out = std::cout,
      .err = std::cerr,
      .out_terminal = out_terminal,
      .err_terminal = err_terminal,
      .make_benchmarker = make_worker_benchmarker,
      .find_installation = find_installation,
      .make_llm = [&](std::string_view spec, Waiting waiting, ReplayMode replay) -> Result<std::unique_ptr<LLMClient>> {
        KERNELGEN_TRY(const auto providers, load_providers(providers_file));
        if (traffic == nullptr) {
          KERNELGEN_TRY(traffic, make_server_traffic());
        }
        return make_llm_client(spec, {.environment = variables,
                                      .runner = *processes,
                                      .waiting = waiting,
                                      .replay = replay,
                                      .providers = &providers,
                                      .traffic = traffic});
      },
      .find_providers = [&] { return load_providers(providers_file); },
      .is_set =
          [&](const std::string& variable) {
            const auto found = variables.find(variable);
            return found != variables.end() && !found->second.empty();
          },
      .processes = *processes,
      .stop = interruption.token()};
  return run_kgen({argv + 1, argv + argc}, context);
} catch (const std::exception& error) {
  std::fprintf(stderr, "kgen: a bug: %s\n", error.what());
  return static_cast<int>(ExitCode::Bug);
} catch (...) {
  std::fputs("kgen: a bug: an exception without a name\n", stderr);
  return static_cast<int>(ExitCode::Bug);
}
