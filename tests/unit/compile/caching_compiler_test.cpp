#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include <kernelgen/compile/kernel_compiler.hpp>

#include "compile/content_files.hpp"
#include "support/catch.hpp"
#include "support/fake_compiler.hpp"
#include "support/files.hpp"
#include "support/sha256.hpp"

using namespace kernelgen;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {

/// A cache in front of a fake compiler, in a directory of its own.
class CachingBench {
 public:
  CachingBench() : directory_(TemporaryDirectory::create(fs::temp_directory_path(), "kernelgen-test-").value()) {
    write_file_atomic(directory_.path() / "built.so", "binary").value();
    answer = [this](const CompileRequest& request, std::stop_token) -> Result<CompileOutcome> {
      Compiled compiled;
      compiled.artifact = {request.candidate.id, request.candidate.target, (directory_.path() / "built.so").string(),
                           ""};
      compiled.report.log = "a warning";
      compiled.report.duration = 5ms;
      return CompileOutcome(std::move(compiled));
    };
    restart();
  }
  /// Opens the directory with another cache, like a second process.
  void restart() {
    auto fake = std::make_unique<FakeCompiler>(
        [this](const CompileRequest& request, std::stop_token stop) { return answer(request, stop); }, calls);
    inner = fake.get();
    options.directory = (directory_.path() / "cache").string();
    cache = make_caching_compiler(std::move(fake), options).value();
  }
  Result<CompileOutcome> compile(const std::string& source = "int x;", std::stop_token stop = {}) {
    return cache->compile({.candidate = make_candidate(Target::Cpp, source)}, stop);
  }
  Compiled compiled(const std::string& source = "int x;") { return std::get<Compiled>(compile(source).value()); }
  CompileFailed failed(const std::string& source = "int x;") {
    return std::get<CompileFailed>(compile(source).value());
  }
  void answer_with(Outcome outcome) {
    answer = [outcome](const CompileRequest&, std::stop_token) { return CompileOutcome(CompileFailed{outcome, {}}); };
  }
  void check(std::uint64_t hits, std::uint64_t misses, std::uint64_t failures) const {
    CHECK(cache->counters().hits == hits);
    CHECK(cache->counters().misses == misses);
    CHECK(cache->counters().failures == failures);
  }
  /// The only file below the cache with this extension.
  [[nodiscard]] fs::path file(const std::string& extension) const {
    fs::path found;
    for (const auto& entry : fs::recursive_directory_iterator(directory_.path() / "cache"))
      if (entry.path().extension() == extension) found = entry.path();
    REQUIRE_FALSE(found.empty());
    return found;
  }
  [[nodiscard]] const fs::path& path() const { return directory_.path(); }

  CompileCacheOptions options;
  FakeCompiler::Answer answer;
  std::atomic<int> calls{0};
  FakeCompiler* inner = nullptr;
  std::unique_ptr<CachingCompiler> cache;

 private:
  TemporaryDirectory directory_;
};

}  // namespace

TEST_CASE("the same source is compiled once, also by another process", "[compile][cache]") {
  CachingBench bench;
  const auto first = bench.compiled();
  CHECK(first.report.cache == "miss");
  CHECK(first.artifact.key.size() == 64);
  const auto second = bench.compiled();
  CHECK(second.report.cache == "hit");
  CHECK(second.report.log == "a warning");
  CHECK(second.report.duration == 5ms);
  CHECK(second.artifact.path == first.artifact.path);
  CHECK(second.artifact.key == first.artifact.key);
  CHECK(second.artifact.candidate_id == first.artifact.candidate_id);
  CHECK(read_file(second.artifact.path).value() == "binary");
  bench.check(1, 1, 0);
  bench.restart();
  CHECK(bench.compiled().report.cache == "hit");
  CHECK(bench.calls == 1);
}

TEST_CASE("the key's text lies beside the result", "[compile][cache]") {
  CachingBench bench;
  (void)bench.compiled();
  CHECK(read_file(bench.file(".key")).value() == "source int x;\n");
}

TEST_CASE("another source is another key", "[compile][cache]") {
  CachingBench bench;
  (void)bench.compiled("a");
  (void)bench.compiled("b");
  bench.check(0, 2, 0);
}

TEST_CASE("refusals are remembered", "[compile][cache]") {
  CachingBench bench;
  bench.answer_with({OutcomeKind::Compile, "type", "cannot convert"});
  CHECK(bench.failed().report.cache == "miss");
  const auto again = bench.failed();
  CHECK(again.report.cache == "hit");
  CHECK(again.outcome.to_class() == "compile:type");
  CHECK(again.outcome.message == "cannot convert");
  CHECK(bench.calls == 1);
}

TEST_CASE("a kernel that needs too much is remembered, with what it needs", "[compile][cache]") {
  CachingBench bench;
  bench.answer = [](const CompileRequest&, std::stop_token) {
    CompileFailed failed{{OutcomeKind::Resource, "shared_memory", "300000 bytes, 232448 max"}, {}};
    failed.report.kernels = {{.name = "k()", .registers = 10, .static_shared_bytes = 300000}};
    return CompileOutcome(failed);
  };
  CHECK(bench.failed().report.cache == "miss");
  const auto again = bench.failed();
  CHECK(again.report.cache == "hit");
  CHECK(again.outcome.to_class() == "resource:shared_memory");
  REQUIRE(again.report.kernels.size() == 1);
  CHECK(again.report.kernels[0].name == "k()");
  CHECK(again.report.kernels[0].static_shared_bytes == 300000);
  CHECK(bench.calls == 1);
}

TEST_CASE("timeouts and crashed compilers are not remembered", "[compile][cache]") {
  CachingBench bench;
  for (const Outcome& outcome :
       {Outcome{OutcomeKind::Timeout, "compile", ""}, Outcome{OutcomeKind::Compile, "compiler_crashed", ""}}) {
    bench.answer_with(outcome);
    const int before = bench.calls;
    CHECK(bench.failed().report.cache == "miss");
    CHECK(bench.failed().report.cache == "miss");
    CHECK(bench.calls == before + 2);
  }
}

TEST_CASE("errors of the machinery are passed on and not remembered", "[compile][cache]") {
  CachingBench bench;
  bench.answer = [](const CompileRequest&, std::stop_token) -> Result<CompileOutcome> {
    return Error{ErrorCode::Unavailable, "no process left", {}};
  };
  CHECK(bench.compile().error().code == ErrorCode::Unavailable);
  CHECK(bench.compile().error().code == ErrorCode::Unavailable);
  CHECK(bench.calls == 2);
}

TEST_CASE("a torn result is a miss with a warning, and mended", "[compile][cache]") {
  CachingBench bench;
  (void)bench.compiled();
  const auto result = bench.file(".json");
  const auto whole = read_file(result).value();
  for (const auto& torn : {std::string(), whole.substr(0, 10), whole.substr(0, whole.size() / 2),
                           whole.substr(0, whole.size() - 2), "{}\n" + whole, std::string("\n")}) {
    REQUIRE(write_file_atomic(result, torn));
    const auto outcome = bench.compiled();
    CHECK(outcome.report.cache.find("miss (warning: damaged cache entry") == 0);
    CHECK(bench.compiled().report.cache == "hit");
  }
  CHECK(bench.cache->counters().failures == 6);
}

TEST_CASE("an artifact that does not match its name is never handed out", "[compile][cache]") {
  CachingBench bench;
  const auto path = bench.compiled().artifact.path;
  REQUIRE(write_file_atomic(path, "evil"));
  const auto outcome = bench.compiled();
  CHECK(outcome.report.cache.find("its content does not match its name") != std::string::npos);
  CHECK(read_file(outcome.artifact.path).value() == "binary");
  bench.check(0, 2, 1);
  fs::remove(path);
  CHECK(bench.compiled().report.cache == "miss");  // as if it had made room
  CHECK(bench.compiled().report.cache == "hit");
}

TEST_CASE("a result of another schema is a plain miss", "[compile][cache]") {
  CachingBench bench;
  bench.answer_with({OutcomeKind::Compile, "type", ""});
  (void)bench.failed();
  // The entry is consistent: the digest matches the text.
  const std::string body = "{\"schema\":99}\n";
  REQUIRE(write_file_atomic(bench.file(".json"), sha256_hex(body) + "\n" + body));
  const auto again = bench.failed();
  CHECK(again.outcome.to_class() == "compile:type");
  CHECK(again.report.cache == "miss");
  CHECK(bench.calls == 2);
}

TEST_CASE("a full disk loses the cache, not the artifact", "[compile][cache]") {
  CachingBench bench;
  auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit full{3, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &full);
  auto outcome = bench.compile();
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  REQUIRE(outcome.has_value());
  const auto& compiled = std::get<Compiled>(*outcome);
  CHECK(compiled.report.cache.find("miss (warning: cannot write") == 0);
  CHECK(read_file(compiled.artifact.path).value() == "binary");
  bench.check(0, 1, 1);
  CHECK(bench.compiled().report.cache == "miss");
}

TEST_CASE("a cache directory that cannot be used is no obstacle", "[compile][cache]") {
  CachingBench bench;
  REQUIRE(write_file_atomic(bench.path() / "cache", "a file, not a directory"));
  CHECK(bench.compiled().report.cache.find("miss (warning: ") == 0);
  CHECK(bench.compiled().report.cache.find("miss (warning: ") == 0);
}

TEST_CASE("without a key nothing is cached, and the report says why", "[compile][cache]") {
  CachingBench bench;
  bench.inner->key_is_known = false;
  CHECK(bench.compiled().report.cache == "off (the compiler could not be identified)");
  CHECK(bench.compiled().report.cache == "off (the compiler could not be identified)");
  bench.check(0, 0, 0);
  bench.inner->key_error = Error{ErrorCode::Timeout, "c++ --version: timed out", {}};
  CHECK(bench.compiled().report.cache == "off (c++ --version: timed out)");
  bench.inner->key_error = Error{ErrorCode::MissingTool, "no compiler", {}};
  CHECK(bench.compile().error().code == ErrorCode::MissingTool);
}

TEST_CASE("equal requests at the same time compile once", "[compile][cache]") {
  CachingBench bench;
  auto plain = bench.answer;
  bench.answer = [plain](const CompileRequest& request, std::stop_token stop) {
    std::this_thread::sleep_for(50ms);
    return plain(request, stop);
  };
  std::atomic<int> right{0};
  std::vector<std::jthread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&] {
      auto outcome = bench.compile();
      if (outcome && std::holds_alternative<Compiled>(*outcome)) ++right;
    });
  threads.clear();
  CHECK(right == 8);
  CHECK(bench.calls == 1);
  bench.check(7, 1, 0);
}

TEST_CASE("a failed compilation does not fail the requests that waited for it", "[compile][cache]") {
  CachingBench bench;
  auto plain = bench.answer;
  std::atomic<bool> first{true};
  bench.answer = [&, plain](const CompileRequest& request, std::stop_token stop) -> Result<CompileOutcome> {
    std::this_thread::sleep_for(50ms);
    if (first.exchange(false)) return Error{ErrorCode::Cancelled, "cancelled", {}};
    return plain(request, stop);
  };
  std::atomic<int> right{0};
  std::atomic<int> cancelled{0};
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      auto outcome = bench.compile();
      ++(outcome.has_value() ? right : cancelled);
    });
  threads.clear();
  CHECK(cancelled == 1);
  CHECK(right == 3);
  CHECK(bench.calls == 2);
}

TEST_CASE("a request that waits for another compilation can be cancelled", "[compile][cache]") {
  CachingBench bench;
  auto plain = bench.answer;
  std::atomic<bool> inside{false};
  std::atomic<bool> go_on{false};
  bench.answer = [&, plain](const CompileRequest& request, std::stop_token stop) {
    inside = true;
    while (!go_on) std::this_thread::sleep_for(1ms);
    return plain(request, stop);
  };
  std::jthread compiling([&] { (void)bench.compile(); });
  while (!inside) std::this_thread::sleep_for(1ms);
  std::stop_source source;
  std::jthread stopper([&] {
    std::this_thread::sleep_for(20ms);
    source.request_stop();
  });
  CHECK(bench.compile("int x;", source.get_token()).error().code == ErrorCode::Cancelled);
  go_on = true;
}

TEST_CASE("a compiler that throws leaves no request waiting", "[compile][cache]") {
  CachingBench bench;
  auto plain = bench.answer;
  bench.answer = [](const CompileRequest&, std::stop_token) -> Result<CompileOutcome> {
    throw std::runtime_error("of the caller's own compiler");
  };
  CHECK_THROWS(bench.compile());
  bench.answer = plain;
  CHECK(bench.compile().has_value());
}

TEST_CASE("a cache needs a compiler and a directory", "[compile][cache]") {
  CHECK(make_caching_compiler(nullptr, {.directory = "/tmp/x"}).error().code == ErrorCode::InvalidArgument);
  std::atomic<int> calls{0};
  auto fake = std::make_unique<FakeCompiler>(nullptr, calls);
  CHECK(make_caching_compiler(std::move(fake), {}).error().code == ErrorCode::InvalidArgument);
}

namespace {

/// A store of artifacts with 1000 bytes each, of which the first was used longest ago.
class FullStore {
 public:
  explicit FullStore(std::uint64_t max_bytes) {
    bench.answer = [this](const CompileRequest& request, std::stop_token) -> Result<CompileOutcome> {
      const auto built = bench.path() / "large.so";
      write_file_atomic(built, request.candidate.source + std::string(1000 - request.candidate.source.size(), 'x'))
          .value();
      Compiled compiled;
      compiled.artifact = {request.candidate.id, request.candidate.target, built.string(), ""};
      return CompileOutcome(std::move(compiled));
    };
    bench.options.max_bytes = max_bytes;
    bench.options.keep_idle = 0s;
    bench.restart();
  }
  [[nodiscard]] std::size_t bytes() const {
    std::size_t sum = 0;
    for (const char* part : {"objects", "results"})
      for (const auto& entry : fs::recursive_directory_iterator(bench.path() / "cache" / part))
        if (entry.is_regular_file()) sum += entry.file_size();
    return sum;
  }
  CachingBench bench;
};

}  // namespace

TEST_CASE("a store that is too large loses what was not used for longest", "[compile][cache][eviction]") {
  FullStore store(20'000);
  (void)store.bench.compiled("old");
  const auto kept = store.bench.compiled("used").artifact.path;
  for (int i = 0; i < 40; ++i) {
    (void)store.bench.compiled("source " + std::to_string(i));
    CHECK(store.bench.compiled("used").report.cache == "hit");
    CHECK(store.bytes() <= 20'000);
  }
  CHECK(fs::exists(kept));
  CHECK(store.bench.cache->counters().evicted > 0);
  CHECK(store.bench.cache->counters().failures == 0);
  const int before = store.bench.calls;
  CHECK(store.bench.compiled("old").report.cache == "miss");
  CHECK(store.bench.calls == before + 1);
}

TEST_CASE("what an evaluation may be using stays, and so does an open file", "[compile][cache][eviction]") {
  FullStore store(5'000);
  store.bench.options.keep_idle = 3600s;
  store.bench.restart();
  for (int i = 0; i < 20; ++i) (void)store.bench.compiled("source " + std::to_string(i));
  CHECK(store.bytes() > 20'000);
  CHECK(store.bench.cache->counters().evicted == 0);

  const auto path = store.bench.compiled("source 0").artifact.path;
  std::ifstream open(path);
  store.bench.options.keep_idle = 0s;
  store.bench.restart();
  for (int i = 0; i < 10; ++i) (void)store.bench.compiled("another " + std::to_string(i));
  CHECK_FALSE(fs::exists(path));
  CHECK(std::string(std::istreambuf_iterator<char>(open), {}).find("source 0") == 0);
}

TEST_CASE("a store without a limit is never emptied", "[compile][cache][eviction]") {
  FullStore store(1);
  store.bench.options.max_bytes.reset();
  store.bench.restart();
  for (int i = 0; i < 20; ++i) (void)store.bench.compiled("source " + std::to_string(i));
  CHECK(store.bytes() > 20'000);
}

TEST_CASE("only one process empties a store at a time", "[compile][cache][eviction]") {
  FullStore store(2'000);
  fs::create_directories(store.bench.path() / "cache");
  const int held = ::open((store.bench.path() / "cache/.evicting").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0644);
  REQUIRE(::flock(held, LOCK_EX) == 0);
  for (int i = 0; i < 10; ++i) CHECK(store.bench.compiled("source " + std::to_string(i)).report.cache == "miss");
  CHECK(store.bytes() > 10'000);
  ::close(held);
  (void)store.bench.compiled("one more");
  CHECK(store.bytes() <= 2'000);
}

TEST_CASE("builds that were not finished are removed", "[compile][cache][eviction]") {
  FullStore store(100'000);
  const auto builds = store.bench.path() / "cache/builds";
  fs::create_directories(builds / "build-old");
  fs::create_directories(builds / "build-new");
  fs::last_write_time(builds / "build-old", fs::file_time_type::clock::now() - 25h);
  (void)store.bench.compiled();
  CHECK_FALSE(fs::exists(builds / "build-old"));
  CHECK(fs::exists(builds / "build-new"));
}

TEST_CASE("an artifact that lies in the store already is not stored again", "[compile][cache]") {
  CachingBench bench;
  bench.answer = [&](const CompileRequest& request, std::stop_token) -> Result<CompileOutcome> {
    Compiled compiled;
    const auto path = publish_content(bench.options.directory, "published", ".so").value();
    compiled.artifact = {request.candidate.id, request.candidate.target, path.string(), ""};
    return CompileOutcome(std::move(compiled));
  };
  const auto path = bench.compiled().artifact.path;
  CHECK(bench.compiled().artifact.path == path);
  std::size_t copies = 0;
  for (const auto& entry : fs::recursive_directory_iterator(bench.path() / "cache"))
    copies += entry.path().extension() == ".so" ? 1 : 0;
  CHECK(copies == 1);
}
