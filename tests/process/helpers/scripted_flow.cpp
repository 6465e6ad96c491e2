// A whole search with a scripted model and a scripted judge, to be killed at any moment:
//
//   scripted_flow DIRECTORY [TASK [URL]]
//
// The journal lies in DIRECTORY/run. Every request that reaches the model adds a line to DIRECTORY/asked. Exit 0 when
// the search is over, 73 when another process has the run.
//
// With TASK, DIRECTORY is a results directory that several processes share: the run is in DIRECTORY/TASK, the search
// prints "ready" when it holds the run's lock, begins when standard input ends, and writes the reports afterwards. With
// URL the model is a server; an empty TASK is none.

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <iostream>
#include <memory>
#include <thread>
#include <utility>

#include <kernelgen/llm/clients.hpp>
#include <kernelgen/report/report.hpp>

#include "process/helpers/scripted_replies.hpp"

using namespace kernelgen;
using namespace kernelgen::testing;

namespace {

void add_line(const std::string& file, const std::string& line) {
  const int fd = ::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  const std::string text = line + '\n';
  if (fd < 0 || ::write(fd, text.data(), text.size()) != static_cast<ssize_t>(text.size())) ::_exit(3);
  ::close(fd);
}

/// Asks a server, which gets the id of the request in front of the prompt.
class ServerModel final : public LLMClient {
 public:
  explicit ServerModel(const std::string& url) {
    ServerClientOptions options;
    options.base_url = url;
    options.model = "scripted";
    client_ = make_server_client(std::move(options)).value();
  }
  Result<Reply> complete(const LLMRequest& request, std::stop_token stop) override {
    auto asked = request;
    asked.prompt.insert(0, request.id + ' ');
    return client_->complete(asked, std::move(stop));
  }
  [[nodiscard]] std::string identity() const override { return client_->identity(); }

 private:
  std::unique_ptr<LLMClient> client_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argc > 4) return 64;
  const std::string directory = argv[1];
  const std::string task = argc >= 3 ? argv[2] : "";
  const auto pause = [] { std::this_thread::sleep_for(std::chrono::milliseconds(3)); };
  FakeModel scripted([&](const LLMRequest& request, std::stop_token) -> Result<Reply> {
    add_line(directory + "/asked", request.id);
    pause();
    return Reply{.text = scripted_reply(request.id), .usage = {100, 10, std::nullopt, std::nullopt}};
  });
  std::unique_ptr<LLMClient> server;
  if (argc == 4) server = std::make_unique<ServerModel>(argv[3]);
  LLMClient& model = server != nullptr ? *server : static_cast<LLMClient&>(scripted);
  FakeBenchmarker benchmarker([&](const EvaluationRequest& request) -> Result<EvaluationRecord> {
    pause();
    return judge_source(request.candidate.source);
  });
  const FakePromptBuilder prompts;
  const FakeDetector detector;
  const auto journal = open_run_journal(directory + '/' + (task.empty() ? "run" : task), real_time());
  if (!journal) {
    std::cerr << journal.error().to_line() << '\n';
    return 73;
  }
  if (!task.empty()) {
    std::cout << "ready" << std::endl;
    while (std::cin.get() != std::char_traits<char>::eof()) {
    }
  }
  const auto outcome = run_flow(fake_request(), *make_hybrid_policy({.seeds = 3}),
                                {model, prompts, benchmarker, detector}, **journal, {}, {});
  if (!outcome) std::cerr << outcome.error().to_line() << '\n';
  if (!outcome) return 1;
  const auto reported = task.empty() ? Result<void>() : write_reports(directory);
  if (!reported) std::cerr << reported.error().to_line() << '\n';
  return reported ? 0 : 2;
}
