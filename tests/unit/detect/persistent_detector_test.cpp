#include <kernelgen/detect/persistent_detector.hpp>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <limits>
#include <map>
#include <random>
#include <set>
#include <vector>

#include "fuzz/detector_fuzz.hpp"
#include "support/catch.hpp"
#include "support/effort.hpp"
#include "support/golden.hpp"
#include "support/text.hpp"

using namespace kernelgen;
using kernelgen::testing::read_test_data;

namespace {

/// One line of tests/data/detect/index.txt.
struct Case {
  std::string file;
  Target target = Target::Cpp;
  Recurrence verdict = Recurrence::Unknown;
  std::string warnings;
};

std::vector<Case> read_cases() {
  std::vector<Case> cases;
  const auto text = read_test_data("detect/index.txt");
  for (const auto line : split_lines(text)) {
    if (line.empty() || line.front() == '#') continue;
    const auto fields = split(line, '|');
    REQUIRE(fields.size() == 4);
    const auto target = parse_target(trim(fields[1]));
    const auto verdict = parse_recurrence(trim(fields[2]));
    REQUIRE((target && verdict));
    cases.push_back({std::string(trim(fields[0])), *target, *verdict, std::string(trim(fields[3]))});
  }
  return cases;
}

PersistenceReport inspect(std::string_view source, Target target) {
  return make_persistent_detector()->inspect(source, target);
}

std::string warnings_of(const PersistenceReport& report) {
  std::set<std::string> names;
  for (const auto& warning : report.warnings) names.insert(warning.name);
  return join(std::vector<std::string>(names.begin(), names.end()), " ");
}

}  // namespace

TEST_CASE("every file of the corpus gets its verdict and its warnings", "[detect][corpus]") {
  for (const auto& each : read_cases()) {
    const auto source = read_test_data("detect/" + each.file);
    const auto report = inspect(source, each.target);
    INFO(each.file << "\n" << to_json(report));
    CHECK(to_string(report.verdict) == to_string(each.verdict));
    CHECK(warnings_of(report) == each.warnings);
    CHECK_FALSE(report.reason.empty());
    const auto lines = static_cast<int>(split_lines(source).size());
    CHECK(std::all_of(report.evidence.begin(), report.evidence.end(),
                      [&](const Evidence& item) { return item.line >= 1 && item.line <= lines; }));
  }
}

TEST_CASE("the corpus and its index name the same files", "[detect][corpus]") {
  std::set<std::string> listed;
  for (const auto& each : read_cases()) listed.insert(each.file);
  std::set<std::string> found{};
  for (const auto& entry : std::filesystem::directory_iterator(KERNELGEN_TEST_DATA "/detect"))
    if (entry.path().filename() != "index.txt") found.insert(entry.path().filename().string());
  CHECK(listed == found);
  CHECK(found.size() >= 200);
}

TEST_CASE("the manual counts the verdicts on the corpus", "[detect][corpus]") {
  constexpr Recurrence k_verdicts[] = {Recurrence::Persistent, Recurrence::PerStep, Recurrence::NotRecurrent,
                                       Recurrence::Unknown};
  std::map<std::string, std::map<Recurrence, int>> counts;
  for (const auto& each : read_cases())
    ++counts[std::string(to_string(each.target))][inspect(read_test_data("detect/" + each.file), each.target).verdict];
  std::string table = "| target |";
  for (const auto verdict : k_verdicts) table += " `" + std::string(to_string(verdict)) + "` |";
  table += " files |\n|---|---|---|---|---|---|\n";
  for (auto& [target, verdicts] : counts) {
    int files = 0;
    table += "| " + target + " |";
    for (const auto verdict : k_verdicts) {
      table += ' ' + std::to_string(verdicts[verdict]) + " |";
      files += verdicts[verdict];
    }
    table += ' ' + std::to_string(files) + " |\n";
  }
  INFO("docs/measurements/detector.md should have:\n" << table);
  CHECK(read_test_data("../../docs/measurements/detector.md").find(table) != std::string::npos);
}

TEST_CASE("what macros make stands where they are used", "[detect]") {
  const auto report = inspect(read_test_data("detect/cuda_macro_kernel.cu"), Target::Cuda);
  const auto line = [&](EvidenceKind kind) {
    const auto found = std::find_if(report.evidence.begin(), report.evidence.end(),
                                    [&](const Evidence& item) { return item.kind == kind; });
    return found == report.evidence.end() ? 0 : found->line;
  };
  CHECK(line(EvidenceKind::DeviceKernel) == 11);
  CHECK(line(EvidenceKind::DeviceLoop) == 15);
  CHECK(report.evidence.front().name == "rnn_forward");
}

TEST_CASE("warnings have their lines", "[detect]") {
  const auto line = [](const std::string& file, Target target, std::string_view name) {
    const auto report = inspect(read_test_data("detect/" + file), target);
    const auto found = std::find_if(report.warnings.begin(), report.warnings.end(),
                                    [&](const DetectorWarning& warning) { return warning.name == name; });
    return found == report.warnings.end() ? 0 : found->line;
  };
  CHECK(line("triton_serial_hidden_scalar.py", Target::Triton, "serial_hidden") == 10);
  CHECK(line("cuda_serial_hidden_one_thread_per_row.cu", Target::Cuda, "serial_hidden") == 7);
  CHECK(line("cuda_missing_barrier_two_buffers.cu", Target::Cuda, "unsynchronized_state") != 0);
  CHECK(line("cuda_macro_kernel.cu", Target::Cuda, "single_program") == 25);
}

TEST_CASE("a loop around independent launches is no loop over steps", "[detect]") {
  const auto report = inspect(read_test_data("detect/cuda_batch_loop_launches.cu"), Target::Cuda);
  const auto found = std::find_if(report.evidence.begin(), report.evidence.end(),
                                  [](const Evidence& item) { return item.kind == EvidenceKind::HostLoop; });
  REQUIRE(found != report.evidence.end());
  CHECK(found->line == 12);
  CHECK(found->detail.find("independent") != std::string::npos);
}

TEST_CASE("the example kernels are understood", "[detect][corpus]") {
  const auto verdict = [](const std::string& name) {
    return to_string(inspect(read_test_data("../../examples/kernels/" + name), Target::Cpp).verdict);
  };
  for (const auto* name : {"gru.cpp", "gru_hidden.cpp", "gru_bidirectional.cpp", "gru.c", "gru_hidden.c"}) {
    INFO(name);
    CHECK(verdict(name) == "persistent");
  }
  for (const std::string name : {"gru_hidden", "batchnorm", "layernorm", "matmul_gelu", "relu", "softmax"}) {
    INFO(name);
    const auto* expected = name == "gru_hidden" ? "persistent" : "not-recurrent";
    CHECK(to_string(inspect(read_test_data("../../examples/kernels/" + name + ".cu"), Target::Cuda).verdict) ==
          expected);
    CHECK(to_string(inspect(read_test_data("../../examples/kernels/" + name + ".hip"), Target::Hip).verdict) ==
          expected);
  }
  for (const auto* name : {"relu.cpp", "softmax.cpp", "layernorm.cpp", "matmul_gelu.cpp", "batchnorm.cpp", "relu.c",
                           "softmax.c", "layernorm.c", "matmul_gelu.c", "batchnorm.c"}) {
    INFO(name);
    CHECK(verdict(name) == "not-recurrent");
  }
}

TEST_CASE("evidence has its lines", "[detect]") {
  const auto report = inspect(read_test_data("detect/triton_mamba_scan.py"), Target::Triton);
  const auto find = [&](EvidenceKind kind) {
    const auto found = std::find_if(report.evidence.begin(), report.evidence.end(),
                                    [&](const Evidence& item) { return item.kind == kind; });
    return found == report.evidence.end() ? Evidence{} : *found;
  };
  CHECK(find(EvidenceKind::DeviceKernel).line == 6);
  CHECK(find(EvidenceKind::DeviceKernel).name == "scan");
  CHECK(find(EvidenceKind::DeviceLoop).line == 10);
  CHECK(find(EvidenceKind::CarriedState).line == 14);
  CHECK(find(EvidenceKind::CarriedState).name == "h");
  CHECK(find(EvidenceKind::Launch).line == 20);
}

TEST_CASE("inline sources keep the lines of the file", "[detect]") {
  const auto report = inspect(read_test_data("detect/torch_inline_persistent.py"), Target::Torch);
  REQUIRE(report.verdict == Recurrence::Persistent);
  CHECK(report.reason.find("line 12") != std::string::npos);
}

TEST_CASE("a name with several values is no constant", "[detect]") {
  const auto kernel = [](const std::string& assignments) {
    return "import triton, os\nimport triton.language as tl\n" + assignments +
           "@triton.jit\ndef cell(x, y):\n  i = tl.program_id(0)\n  h = 0.0\n  for t in range(STEPS):\n"
           "    h = tl.sigmoid(h * 0.5 + tl.load(x + i + t))\n  tl.store(y + i, h)\ncell[(1,)](x, y)\n";
  };
  CHECK(inspect(kernel("STEPS = 4\n"), Target::Triton).verdict == Recurrence::NotRecurrent);
  CHECK(inspect(kernel("STEPS = 512\n"), Target::Triton).verdict == Recurrence::Persistent);
  CHECK(inspect(kernel("STEPS = 4\nSTEPS = 512\nSTEPS = 4\n"), Target::Triton).verdict == Recurrence::Persistent);
}

TEST_CASE("a member function's object carries what the function makes of it", "[detect]") {
  const auto loop = [](const std::string& object, const std::string& step) {
    const auto report = inspect(object +
                                    "__global__ void k(const float* x, float* y, int T) { Cell s{};\n"
                                    "for (int t = 0; t < T; ++t) { " +
                                    step +
                                    " }\ny[0] = s.last(); }\n"
                                    "void run(const float* x, float* y, int T) { k<<<9, 32>>>(x, y, T); }\n",
                                Target::Cuda);
    return to_string(report.verdict);
  };
  const auto cell = [](const std::string& members, const std::string& functions) {
    return "struct Cell { " + members + "\n" + functions + "\n__device__ float last() const { return h; } };\n";
  };
  const std::string add = "__device__ void add(float v) ";
  CHECK(loop(cell("float h;", add + "{ h = tanhf(h + v); }"), "s.add(x[t]);") == "persistent");
  CHECK(loop(cell("float w[8], h;", add + "{ for (int i = 0; i < 8; ++i) w[i] = tanhf(w[i] * v); }"), "s.add(x[t]);") ==
        "persistent");
  CHECK(loop(cell("float c, h, w;", add + "{ c += tanhf(v + w * h); }\n__device__ void out() { h = tanhf(c); }"),
             "s.add(x[t]); s.out(); y[t] = s.h;") == "persistent");
  // Sums, Welford's moments, and the online softmax.
  CHECK(loop(cell("float h;", add + "{ h += v * v; }"), "s.add(x[t]);") == "not-recurrent");
  CHECK(loop(cell("float h, m2, n;", add + "{ n += 1.f; float d = v - h; h += d / n; m2 += d * (v - h); }"),
             "s.add(x[t]);") == "not-recurrent");
  CHECK(loop(cell("float m, h;",
                  add + "{ float top = fmaxf(m, v); h = h * __expf(m - top) + __expf(v - top); m = top; }"),
             "s.add(x[t]);") == "not-recurrent");
  // A generator of random numbers takes its state from the number before.
  CHECK(loop(cell("unsigned h;", "__device__ unsigned next() { h ^= h << 13; h ^= h >> 17; return h; }"),
             "y[t] = s.next() < 9u ? 0.f : x[t];") == "persistent");
}

TEST_CASE("a report as JSON has everything", "[detect]") {
  const auto text = to_json(inspect(read_test_data("detect/triton_serial_hidden.py"), Target::Triton));
  for (const auto* part : {"\"verdict\": \"persistent\"", "\"kind\": \"carried_state\"", "\"name\": \"serial_hidden\"",
                           "\"line\": 11", "\"reason\": "})
    CHECK(text.find(part) != std::string::npos);
}

TEST_CASE("the name of a kernel decides nothing", "[detect]") {
  auto source = read_test_data("detect/triton_gru_step_kernel.py");
  const auto before = inspect(source, Target::Triton).verdict;
  for (auto at = source.find("persistent_gru_kernel"); at != source.npos; at = source.find("persistent_gru_kernel"))
    source.replace(at, 21, "elementwise_add");
  CHECK(inspect(source, Target::Triton).verdict == before);
}

TEST_CASE("time grows with the length of a text, however alike its parts are", "[detect]") {
  // A text four times as long takes four times the processor time, and 16 times with an algorithm of quadratic time.
  // Several lengths are compared, because limits of the detector bound what the longest texts cost.
  // bench/detector.cpp has the times, and more shapes.
  // The least of two rounds, and of more where it is not below `enough`: a busy machine makes some of them slow.
  const auto seconds = [](const std::string& text, Target target, double enough) {
    constexpr int k_rounds = 2, k_most_rounds = 20;
    double best = std::numeric_limits<double>::max();
    for (int round = 0; round < k_rounds || (round < k_most_rounds && best >= enough); ++round) {
      const auto begin = std::clock();
      (void)inspect(text, target);
      best = std::min(best, static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC);
    }
    return best;
  };
  const auto grows_slowly = [&](const std::string& start, const std::string& part, Target target) {
    constexpr std::size_t k_bytes = (std::size_t{1} << 18) / testing::k_less;
    constexpr double k_most = 10, k_noise = 0.01;
    double shorter = std::numeric_limits<double>::max();
    std::string text = start;
    for (std::size_t bytes = k_bytes / 256; bytes <= k_bytes; bytes *= 4) {
      while (text.size() < bytes) text += part;
      const auto limit = std::max(k_noise, k_most * shorter);
      const auto longer = seconds(text, target, limit);
      INFO(part << ": " << shorter << " s, and " << longer << " s for " << bytes << " bytes, four times as much");
      CHECK(longer < limit);
      shorter = longer;
    }
  };
  grows_slowly("", "__device__ void f(){g();}void h(){x=f;f();}", Target::Cuda);
  grows_slowly("__global__ void k(){}void r(){", "g=1;k<<<g,1>>>();", Target::Cuda);
  grows_slowly("__global__ void k(){", "f<a<b<", Target::Cuda);
  grows_slowly("__global__ void k(){for(;;)f(", "&a,", Target::Cuda);
  grows_slowly("__global__ void k(int a){", "auto f=[&](int i){a+=i;};f(1);", Target::Cuda);
  grows_slowly("struct S{float a,b,c,d;", "__device__ void f(){a=b*c;d=a;}", Target::Cuda);
  grows_slowly("struct S{float a,b;__device__ void f(){", "a=b;b=a*a;", Target::Cuda);
  grows_slowly("__global__ void k(float* a){for(;;){", "if(v){b=c+b;}else if(b){c=a[i];}", Target::Cuda);
  grows_slowly("__global__ void k(float* a){for(;;){", "if(v){b=a[i];if(u){b+=b;", Target::Cuda);
  grows_slowly("__global__ void k(float* a){for(;;){", "for(;;){float* p=a;p[i]=a[j]+p[k];swap(a,p);}", Target::Cuda);
  grows_slowly("__global__ void k(S s){for(;;){", "s.a=s.b*s.c;f(s);s=g(s);", Target::Cuda);
  grows_slowly("__global__ void k(float* a){for(int t=0;t<n;++t){h+=a[t];", "if(c==n&&d==n)a[t]=h;", Target::Cuda);
  grows_slowly("__global__ void k(float* a){float h[8];for(int t=0;t<n;++t){", "h[0]=r*h[0]+a[t];h[1]=r*h[1]+a[t];",
               Target::Cuda);
  grows_slowly("__global__ void k(float* a){for(;;){", "p=&a[p[p[p]]];q=&p[q[p]];q[i]=p[q[p]];", Target::Cuda);
  grows_slowly("__global__ void k(float* a){for(;;){", "t(i)=t(t(i));f<a,b>(f<b,a>(t));", Target::Cuda);
  grows_slowly("", "if a;", Target::Triton);
  grows_slowly("@triton.jit\ndef k(a):\n    ", "a=", Target::Triton);
}

TEST_CASE("neither random nor mutated nor deeply nested text hurts the detector", "[detect][fuzz]") {
  std::mt19937 random(7);
  const auto feed = [](const std::string& text) {
    fuzz_detector(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
  };
  for (int round = 0; round < 300 / testing::k_less; ++round) {
    std::string bytes(random() % 400, ' ');
    for (auto& byte : bytes) byte = static_cast<char>(random());
    feed(bytes);
  }
  for (const auto& each : read_cases()) {
    const auto source = read_test_data("detect/" + each.file);
    for (int round = 0; round < 20 / testing::k_less; ++round) {
      auto text = source;
      for (int change = 0; change < 8; ++change) text[random() % text.size()] = static_cast<char>(random());
      text.erase(random() % text.size(), random() % 40);
      feed(text);
    }
    feed(source.substr(0, random() % source.size()));
  }
  for (const std::string part : {"(", "[", "{", "for(;;)", "if(x)", "while x:\n ", "*", "a(", "a[", "@triton.jit\n",
                                 "\"\"\"", "x?", "do ", "<", "lambda:", "#if 0\n", "a=b,", "else "}) {
    for (const std::string prefix : {"", "__global__ void k(){", "int kgen_run(){", "@triton.jit\ndef k():\n x = "}) {
      std::string text = prefix;
      for (int i = 0; i < 4000 / testing::k_less; ++i) text += part;
      feed(text);
    }
  }
}
