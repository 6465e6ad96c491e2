// The real nvcc, in the sandbox. Without a device, the results are inspected, not run.

#include <dlfcn.h>

#include <filesystem>
#include <future>
#include <string>
#include <vector>

#include <kernelgen/compile/kernel_compiler.hpp>

#include "prompt/reply_text.hpp"
#include "prompt/templates.hpp"
#include "support/catch.hpp"
#include "support/files.hpp"

using namespace kernelgen;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {

const std::string k_examples = KERNELGEN_SOURCE_DIR "/examples/kernels/";

struct Bench {
  TemporaryDirectory directory = TemporaryDirectory::create(fs::temp_directory_path(), "kernelgen-nvcc-").value();
  std::unique_ptr<ProcessRunner> runner = make_process_runner();
  NvccCompilerOptions options{.architecture = "sm_90",
                              .abi_dir = KERNELGEN_SOURCE_DIR "/include/kernelgen/abi",
                              .output_dir = (directory.path() / "out").string(),
                              .sandbox = KERNELGEN_SANDBOX};

  CompileOutcome compile(const std::string& source, std::chrono::milliseconds timeout = 300s) {
    return make_nvcc_compiler(options, *runner)
        .value()
        ->compile({.candidate = make_candidate(Target::Cuda, source), .timeout = timeout}, {})
        .value();
  }
};

CompileFailed failed(const CompileOutcome& outcome) {
  REQUIRE(std::holds_alternative<CompileFailed>(outcome));
  return std::get<CompileFailed>(outcome);
}

Compiled compiled(const CompileOutcome& outcome) {
  if (const auto* refused = std::get_if<CompileFailed>(&outcome)) FAIL(refused->report.log);
  return std::get<Compiled>(outcome);
}

}  // namespace

TEST_CASE("an artifact of nvcc exports the kernel ABI and needs no CUDA library", "[cuda]") {
  Bench bench;
  const auto artifact = compiled(bench.compile(read_file(k_examples + "relu.cu").value())).artifact;
  // The runtime is linked statically, so the file loads on a machine without CUDA.
  void* library = ::dlopen(artifact.path.c_str(), RTLD_NOW | RTLD_LOCAL);
  INFO((library == nullptr ? ::dlerror() : ""));
  REQUIRE(library != nullptr);
  for (const char* name : {"kgen_abi_version", "kgen_prepare", "kgen_run", "kgen_destroy"}) {
    INFO(name);
    CHECK(::dlsym(library, name) != nullptr);
  }
}

TEST_CASE("nvcc takes the code that prompts for cuda show", "[cuda][prompt]") {
  Bench bench;
  const auto shown = [](const std::string& name, const std::string& part) {
    std::string all;
    for (const auto& block :
         find_fences(read_file(KERNELGEN_SOURCE_DIR "/lib/prompt/templates/" + name + ".mustache").value()).blocks)
      if (block.content.find(part) != std::string::npos) all += block.content;
    REQUIRE_FALSE(all.empty());
    return all;
  };
  const auto form = compiled(bench.compile(shown("examples/cuda", "kgen_run")));
  REQUIRE(form.report.kernels.size() == 1);
  CHECK(form.report.kernels.front().spill_store_bytes == 0);
  const auto recurrences =
      shown("partials/recurrence_example", "void recur_wrong(const float* weights, float* state, int ") +
      shown("partials/recurrence_example", "__ldcg(");
  CHECK(compiled(bench.compile("#include <cooperative_groups.h>\n" + recurrences)).report.kernels.size() == 2);
}

TEST_CASE("nvcc takes the examples for families of tasks, and they fit into the registers", "[cuda][prompt]") {
  Bench bench;
  const auto templates = TemplateSet::load({KERNELGEN_SOURCE_DIR "/lib/prompt/templates", {}}).value();
  TemplateData data;
  data.set("runtime", "cuda");
  data.set("stream_type", "cudaStream_t");
  std::size_t count = 0;
  for (const std::string folder : {"examples/cuda/", "examples/gpu/"}) {
    for (const auto& name : templates.names_under(folder)) {
      INFO(name);
      const auto blocks = find_fences(templates.render(folder + name, data, {}).value().text).blocks;
      REQUIRE(blocks.size() == 1);
      const auto report = compiled(bench.compile(blocks.front().content)).report;
      CHECK_FALSE(report.kernels.empty());
      for (const auto& kernel : report.kernels) CHECK(kernel.spill_store_bytes + kernel.spill_load_bytes == 0);
      ++count;
    }
  }
  CHECK(count >= 6);
}

TEST_CASE("what nvcc refuses has its class", "[cuda]") {
  const std::pair<const char*, const char*> cases[] = {
      {"compile:undeclared_identifier", "__global__ void k(float* x) { x[0] = foo; }"},
      {"compile:undeclared_identifier", "__global__ void k(float* x) { x[0] = tl::tanh(x[1]); }"},
      {"compile:redefinition", "__device__ int f() { return 1; } __device__ int f() { return 2; }"},
      {"compile:no_member", "__global__ void k(float4 v, float* x) { x[0] = v.q; }"},
      {"compile:missing_header", "#include <torch/extension.h>\nint x;"},
      {"compile:type", "__global__ void k(float* x) { int* p = x; }"},
      {"compile:type", "__global__ void k(float* x) {} void f() { k<<<1, 1>>>(); }"},
      {"compile:type", "__global__ void k(float* x) {} void f() { k(nullptr); }"},
      {"compile:syntax", "__global__ void k(float* x) { x[0] = 1 }"},
      {"compile:syntax", "__global__ void k(float* x) { asm(\"nonsense.f32 %0;\" : \"=f\"(x[0])); }"},
      {"compile:host_function", "int host(); __global__ void k(int* x) { x[0] = host(); }"},
      {"compile:link:undefined_symbol", "int missing(); extern \"C\" int f() { return missing(); }"},
      {"compile:link:undefined_symbol", "__device__ int missing(); __global__ void k(int* x) { x[0] = missing(); }"},
      {"compile:other", "static_assert(sizeof(int) == 77, \"no\");"},
      {"resource:shared_memory",
       "__global__ void k(float* x) { __shared__ float s[75000]; s[threadIdx.x] = x[0]; __syncthreads(); "
       "x[1] = s[threadIdx.x ^ 1]; }"},
      {"syntax:not_code", "I am sorry, but I cannot help with that."},
  };
  Bench bench;
  for (const auto& [expected, source] : cases) {
    INFO(source);
    const auto outcome = failed(bench.compile(source));
    INFO(outcome.report.log);
    CHECK(outcome.outcome.to_class() == expected);
    CHECK_FALSE(outcome.outcome.message.empty());
  }
}

TEST_CASE("what kernels need is counted", "[cuda]") {
  Bench bench;
  const auto report = compiled(bench.compile("__global__ void __launch_bounds__(1024, 2) k(float* x) {\n"
                                             "  __shared__ float s[1024];\n"
                                             "  float a[64];\n"
                                             "#pragma unroll\n"
                                             "  for (int i = 0; i < 64; ++i) a[i] = x[i * 1024 + threadIdx.x];\n"
                                             "  s[threadIdx.x] = a[5];\n"
                                             "  __syncthreads();\n"
                                             "#pragma unroll\n"
                                             "  for (int i = 0; i < 64; ++i) x[i * 1024 + threadIdx.x] = a[i] * "
                                             "a[63 - i] + s[threadIdx.x ^ 1];\n"
                                             "}\n"))
                          .report;
  REQUIRE(report.kernels.size() == 1);
  const auto& kernel = report.kernels.front();
  CHECK(kernel.name == "k(float*)");
  CHECK(kernel.registers > 8);
  CHECK(kernel.registers <= 32);
  CHECK(kernel.spill_store_bytes > 0);
  CHECK(kernel.spill_load_bytes > 0);
  CHECK(kernel.stack_bytes > 0);
  CHECK(kernel.static_shared_bytes == 4096);
  CHECK(kernel.barriers == 1);
  CHECK(report.isolation.find("no pid namespace") == std::string::npos);
}

TEST_CASE("clusters, barriers of a whole grid and instructions of Hopper compile", "[cuda]") {
  Bench bench;
  const auto report =
      compiled(
          bench.compile("#include <cooperative_groups.h>\n"
                        "namespace cg = cooperative_groups;\n"
                        "__global__ void __cluster_dims__(8, 1, 1) c(float* x) {\n"
                        "  const auto cluster = cg::this_cluster();\n"
                        "  __shared__ float s;\n"
                        "  s = x[cluster.block_rank()];\n"
                        "  cluster.sync();\n"
                        "  x[0] = *cluster.map_shared_rank(&s, 1);\n"
                        "}\n"
                        "__global__ void g(float* x) {\n"
                        "  x[threadIdx.x] = 1;\n"
                        "  cg::this_grid().sync();\n"
                        "  x[threadIdx.x + 1] = 2;\n"
                        "}\n"
                        "__global__ void w() { asm volatile(\"wgmma.fence.sync.aligned;\"); }\n"
                        "extern \"C\" int run(float* x, cudaStream_t stream) {\n"
                        "  void* arguments[] = {&x};\n"
                        "  return cudaLaunchCooperativeKernel((void*)g, dim3(4), dim3(32), arguments, 0, stream);\n"
                        "}\n"))
          .report;
  CHECK(report.kernels.size() == 3);
}

TEST_CASE("the example kernels compile without a warning, and fit into the registers", "[cuda]") {
  Bench bench;
  const auto compiler = make_nvcc_compiler(bench.options, *bench.runner).value();
  std::vector<std::pair<std::string, std::future<Result<CompileOutcome>>>> builds;
  for (const std::string& folder : {k_examples, std::string(KERNELGEN_SOURCE_DIR "/examples/tutorial/")}) {
    for (const auto& entry : fs::directory_iterator(folder)) {
      if (entry.path().extension() != ".cu") continue;
      builds.emplace_back(
          entry.path().filename().string(), std::async(std::launch::async, [&compiler, path = entry.path()] {
            CompileRequest request{.candidate = make_candidate(Target::Cuda, read_file(path).value()),
                                   .extra_flags = {"-Werror", "all-warnings", "-Xcompiler", "-Wall,-Wextra"}};
            return compiler->compile(request, {});
          }));
    }
  }
  CHECK(builds.size() >= 7);
  for (auto& [name, build] : builds) {
    INFO(name);
    const auto report = compiled(build.get().value()).report;
    CHECK_FALSE(report.kernels.empty());
    for (const auto& kernel : report.kernels) {
      INFO(kernel.name);
      CHECK(kernel.registers > 0);
      CHECK(kernel.spill_store_bytes + kernel.spill_load_bytes == 0);
    }
  }
}

TEST_CASE("a candidate cannot include our files through nvcc", "[cuda]") {
  Bench bench;
  const auto secret = bench.directory.path() / "secret";
  write_file_atomic(secret, "\"a-secret-of-the-user\"\n").value();
  const auto outcome = failed(bench.compile("const char* s =\n#include \"" + secret.string() + "\"\n;"));
  CHECK(outcome.outcome.to_class() == "compile:missing_header");
  CHECK(outcome.report.log.find("a-secret-of-the-user") == std::string::npos);
}

TEST_CASE("an nvcc that takes too long is ended", "[cuda]") {
  Bench bench;
  const auto started = std::chrono::steady_clock::now();
  CHECK(failed(bench.compile("#include <cooperative_groups.h>\n", 100ms)).outcome.to_class() == "timeout:build");
  CHECK(std::chrono::steady_clock::now() - started < 10s);
}

TEST_CASE("an architecture that nvcc does not know is no fault of the candidate", "[cuda]") {
  Bench bench;
  bench.options.architecture = "sm_999";
  const auto outcome = make_nvcc_compiler(bench.options, *bench.runner)
                           .value()
                           ->compile({.candidate = make_candidate(Target::Cuda, "__global__ void k() {}")}, {});
  REQUIRE_FALSE(outcome);
  CHECK(outcome.error().code == ErrorCode::MissingTool);
  CHECK(outcome.error().message.find("set CUDA_HOME") != std::string::npos);
}

TEST_CASE("a second look comes to the same key", "[cuda]") {
  Bench bench;
  const auto key = [&] {
    return make_nvcc_compiler(bench.options, *bench.runner)
        .value()
        ->key({.candidate = make_candidate(Target::Cuda, "int x;")}, {})
        .value();
  };
  const auto first = key();
  for (const char* part : {"cuda.cicc ", "cuda.ptxas ", "cuda.nvcc ", "cuda.library.runtime ", "cuda.header.api ",
                           "cuda.version Cuda compilation tools, release ", "host.version "}) {
    INFO(first.text);
    CHECK(first.text.find(part) != std::string::npos);
  }
  CHECK(key().digest == first.digest);
}
