// Which example and how much knowledge a prompt has for a family of tasks.

#include "prompt/family_data.hpp"

#include <string>
#include <vector>

#include <kernelgen/prompt/knowledge_topics.hpp>

#include "prompt/prompt_data.hpp"
#include "support/catch.hpp"
#include "support/text.hpp"
#include "unit/prompt/prompt_fixture.hpp"

using namespace kernelgen;
using namespace kernelgen::testing;

namespace {

/// Estimated tokens, as docs/prompts.md states them.
constexpr std::size_t k_section_tokens = 700;
constexpr std::size_t k_example_tokens = 1700;
constexpr std::int64_t k_seed_tokens = 6500;

constexpr OperationFamily k_families[] = {
    OperationFamily::Attention,     OperationFamily::Convolution, OperationFamily::Gemm,      OperationFamily::Scan,
    OperationFamily::Normalization, OperationFamily::Loss,        OperationFamily::Reduction, OperationFamily::Pooling};

using Shapes = std::vector<std::vector<std::int64_t>>;

TaskDescription task_with(OperationFamily family, const std::string& name, Shapes inputs, Shapes outputs) {
  TaskDescription description;
  auto& facts = description.facts.emplace();
  facts.families = {family};
  facts.operations = {{.name = name, .inputs = std::move(inputs), .outputs = std::move(outputs), .dtype = "float32"}};
  return description;
}

const TaskDescription k_large_product_task =
    task_with(OperationFamily::Gemm, "linear", {{1024, 8192}, {8192, 8192}}, {{1024, 8192}});
const TaskDescription k_small_product_task =
    task_with(OperationFamily::Gemm, "linear", {{128, 256}, {256, 256}}, {{128, 256}});
const TaskDescription k_thin_product_task =
    task_with(OperationFamily::Gemm, "linear", {{4, 8192}, {8192, 8192}}, {{4, 8192}});
const TaskDescription k_wide_attention_task =
    task_with(OperationFamily::Attention, "scaled_dot_product_attention",
              {{32, 32, 512, 1024}, {32, 32, 512, 1024}, {32, 32, 512, 1024}}, {{32, 32, 512, 1024}});
const TaskDescription k_attention_task =
    task_with(OperationFamily::Attention, "scaled_dot_product_attention",
              {{32, 32, 512, 64}, {32, 32, 512, 64}, {32, 32, 512, 64}}, {{32, 32, 512, 64}});
const TaskDescription k_depthwise_task =
    task_with(OperationFamily::Convolution, "conv2d", {{8, 64, 32, 32}, {64, 1, 3, 3}}, {{8, 64, 30, 30}});
const TaskDescription k_convolution_task =
    task_with(OperationFamily::Convolution, "conv2d", {{128, 64, 128, 128}, {128, 64, 3, 3}}, {{128, 128, 126, 126}});

TaskDescription softmax_of(std::int64_t rows, std::int64_t length) {
  return task_with(OperationFamily::Reduction, "softmax", {{rows, length}}, {{rows, length}});
}

TaskDescription sums_of(std::int64_t rows, std::int64_t length) {
  return task_with(OperationFamily::Reduction, "sum", {{rows, length}}, {{rows}});
}

const std::vector<std::string> k_hopper{"tf32", "sm90", "wgmma"};

/// Every target with each kind of architecture that its prompts know.
struct Place {
  Target target;
  const char* vendor;
  const char* architecture;
};
const std::vector<Place> k_places{{Target::Cpp, "", ""},
                                  {Target::Cuda, "", ""},
                                  {Target::Cuda, "nvidia", "sm_80"},
                                  {Target::Cuda, "nvidia", "sm_90"},
                                  {Target::Hip, "", ""},
                                  {Target::Hip, "amd", "gfx942"},
                                  {Target::Hip, "amd", "gfx1030"},
                                  {Target::Hip, "amd", "gfx1100"},
                                  {Target::Hipkittens, "amd", "gfx950"},
                                  {Target::Triton, "", ""},
                                  {Target::Triton, "nvidia", "sm_90"},
                                  {Target::Triton, "amd", "gfx942"},
                                  {Target::Triton, "amd", "gfx1100"},
                                  {Target::Torch, "nvidia", "sm_90"}};

PromptRequest request_at(const Place& place, PrecisionClass precision) {
  auto request = sample_prompt_request(PromptKind::Seed, place.target);
  request.on_gpu = *place.vendor != '\0';
  request.gpu_vendor = place.vendor;
  request.gpu_architecture = place.architecture;
  request.description.facts.emplace();
  request.description.precision = precision;
  return request;
}

}  // namespace

TEST_CASE("the example of a prompt follows from the sizes of its task", "[prompt][families]") {
  struct Case {
    const char* name;
    TaskDescription task;
    Target target;
    std::vector<std::string> features;
    const char* example;
  };
  const std::vector<Case> cases{
      {"a large product", k_large_product_task, Target::Cuda, k_hopper, "cuda/gemm_tf32x3"},
      {"on a GPU that is not known", k_large_product_task, Target::Cuda, {}, "gpu/gemm"},
      {"a small product", k_small_product_task, Target::Cuda, k_hopper, "gpu/gemm"},
      {"a thin product", k_thin_product_task, Target::Cuda, k_hopper, ""},
      {"a thin product for Triton", k_thin_product_task, Target::Triton, k_hopper, ""},
      {"a product for Triton", k_large_product_task, Target::Triton, k_hopper, "triton/gemm"},
      {"a product on MFMA", k_large_product_task, Target::Hip, {"wave64", "mfma", "lds64"}, ""},
      {"a product on RDNA in strict", k_large_product_task, Target::Hip, {"wave32", "wmma"}, "gpu/gemm"},
      {"a product for hipkittens", k_large_product_task, Target::Hipkittens, {"wave64", "mfma"}, ""},
      {"a product for torch", k_large_product_task, Target::Torch, k_hopper, ""},
      {"a product for the CPU", k_large_product_task, Target::Cpp, {}, ""},
      {"attention", k_attention_task, Target::Triton, k_hopper, "triton/attention"},
      {"attention of wide heads", k_wide_attention_task, Target::Triton, k_hopper, "triton/gemm"},
      {"a convolution", k_convolution_task, Target::Triton, k_hopper, "triton/convolution"},
      {"a convolution in CUDA", k_convolution_task, Target::Cuda, k_hopper, "cuda/gemm_tf32x3"},
      {"a depthwise one", k_depthwise_task, Target::Triton, k_hopper, ""},
      {"a depthwise one in CUDA", k_depthwise_task, Target::Cuda, k_hopper, ""},
      {"short rows", softmax_of(4096, 1024), Target::Cuda, k_hopper, ""},
      {"long rows", softmax_of(4096, 393'216), Target::Cuda, k_hopper, "cuda/cluster_rows"},
      {"long rows without clusters", softmax_of(4096, 393'216), Target::Cuda, {"tf32"}, ""},
      {"rows longer than a cluster holds", softmax_of(4096, 1 << 20), Target::Cuda, k_hopper, ""},
      {"long rows for Triton", softmax_of(4096, 393'216), Target::Triton, k_hopper, "triton/long_rows"},
      {"few long rows", softmax_of(16, 393'216), Target::Cuda, k_hopper, "gpu/split_rows"},
      {"few long rows in HIP", softmax_of(16, 393'216), Target::Hip, {}, "gpu/split_rows"},
      {"few long rows for Triton", softmax_of(16, 393'216), Target::Triton, k_hopper, "triton/split_rows"},
      {"few sums", sums_of(16, 393'216), Target::Cuda, k_hopper, "gpu/split_reduction"},
      {"few sums for Triton", sums_of(1, 1 << 24), Target::Triton, k_hopper, "triton/split_reduction"},
      {"many sums", sums_of(4096, 393'216), Target::Cuda, k_hopper, ""},
      {"a loss", task_with(OperationFamily::Loss, "mse_loss", {{64, 64}, {64, 64}}, {{}}), Target::Cuda, k_hopper,
       "gpu/split_reduction"},
      {"a scan", task_with(OperationFamily::Scan, "cumsum", {{64, 64}}, {{64, 64}}), Target::Cuda, k_hopper,
       "cuda/scan"},
      {"a scan in HIP", task_with(OperationFamily::Scan, "cumsum", {{64, 64}}, {{64, 64}}), Target::Hip, {}, ""},
      {"nothing is known", TaskDescription{}, Target::Cuda, k_hopper, ""}};
  for (const auto& one : cases) {
    INFO(one.name);
    const KernelPlace place{.target = one.target, .is_amd = one.target == Target::Hip, .features = one.features};
    CHECK(family_example(one.task, place) == one.example);
    if (*one.example != '\0')
      CHECK(TemplateSet::load({k_templates, {}}).value().contains(std::string("examples/") + one.example));
  }
}

TEST_CASE("work behind a product has no example of its own", "[prompt][families]") {
  auto description = k_thin_product_task;
  description.facts->families.push_back(OperationFamily::Loss);
  CHECK(family_example(description, {.target = Target::Cuda, .features = k_hopper}).empty());
}

TEST_CASE("a prompt shows the example in place of the form, and the fingerprint does not depend on the GPU",
          "[prompt][builder][families]") {
  auto request = request_at({Target::Cuda, "nvidia", "sm_90"}, PrecisionClass::Strict);
  const auto form = built(request);
  CHECK(holds(form.text, "scale_kernel"));
  request.description.facts = k_large_product_task.facts;
  const auto shown = built(request);
  CHECK(holds(shown.text, "mma.sync.aligned"));
  CHECK_FALSE(holds(shown.text, "scale_kernel"));
  CHECK(holds(shown.text, "M = 1024, N = 8192, K = 8192"));
  request.gpu_architecture = "sm_80";
  CHECK(built(request).fingerprint == shown.fingerprint);
  request.gpu_architecture.clear();
  CHECK(built(request).fingerprint == shown.fingerprint);
  CHECK_FALSE(holds(built(request).text, "mma.sync.aligned"));
  request.without = {PromptPart::Examples};
  CHECK_FALSE(holds(built(request).text, "linear_kernel"));
}

TEST_CASE("Triton's example has the precision and the tiles of its task", "[prompt][builder][families]") {
  const auto example = [](const Place& place, PrecisionClass precision, const TaskDescription& description) {
    auto request = request_at(place, precision);
    request.description.facts = description.facts;
    return built(request).text;
  };
  const Place nvidia{Target::Triton, "nvidia", "sm_90"};
  CHECK(
      holds(example(nvidia, PrecisionClass::Strict, k_large_product_task), "tl.dot(x, w, input_precision=\"tf32x3\")"));
  CHECK(holds(example(nvidia, PrecisionClass::Strict, k_large_product_task), "BLOCK_K = 128, 128, 32"));
  CHECK(holds(example(nvidia, PrecisionClass::Strict, k_small_product_task), "BLOCK_K = 64, 64, 32"));
  CHECK(holds(example(nvidia, PrecisionClass::Tf32, k_large_product_task), "tl.dot(x, w, input_precision=\"tf32\")"));
  for (const auto* architecture : {"gfx942", "gfx1100", "gfx9999"}) {
    const auto amd = example({Target::Triton, "amd", architecture}, PrecisionClass::Strict, k_large_product_task);
    CHECK(holds(amd, "tl.dot(x, w, input_precision=\"ieee\")"));
    CHECK_FALSE(holds(amd, "tf32x3"));
    CHECK(holds(amd, "BLOCK_K = 128, 128, 32") == (std::string(architecture) == "gfx942"));
  }
}

TEST_CASE("knowledge is about the sizes of the task", "[prompt][builder][families]") {
  const auto knowledge = [](const TaskDescription& description, Target target = Target::Cuda) {
    auto request = request_at({target, "nvidia", "sm_90"}, PrecisionClass::Strict);
    request.description.facts = description.facts;
    const auto text = built(request).text;
    return text.substr(text.find("## What matters for this task"));
  };
  CHECK(holds(knowledge(k_thin_product_task), "bound by reading the weights"));
  CHECK_FALSE(holds(knowledge(k_thin_product_task), "wgmma"));
  CHECK_FALSE(holds(knowledge(k_large_product_task), "bound by reading the weights"));
  CHECK(holds(knowledge(k_small_product_task), "128 x 128 tiles are too few"));
  CHECK(holds(knowledge(k_wide_attention_task), "Store the scores"));
  CHECK(holds(knowledge(k_attention_task), "Never store the scores"));
  CHECK_FALSE(holds(knowledge(k_depthwise_task), "(implicit)"));
  CHECK_FALSE(holds(knowledge(k_convolution_task), "Depthwise"));
  CHECK_FALSE(holds(knowledge(k_convolution_task), "Transposed:"));
  CHECK(holds(knowledge(softmax_of(4096, 393'216)), "4096 rows of 393216 elements"));
  CHECK(holds(knowledge(softmax_of(4096, 393'216)), "a cluster of 8 blocks"));
  CHECK_FALSE(holds(knowledge(softmax_of(4096, 512)), "a cluster of 8 blocks"));
  CHECK(holds(knowledge(softmax_of(4096, 512)), "a warp per row"));
  CHECK(holds(knowledge(softmax_of(16, 393'216), Target::Triton), "chunks over several programs"));
  // Where sizes are not known, all ways are told.
  const auto unknown = knowledge(task_with(OperationFamily::Reduction, "cdist", {}, {}));
  for (const auto* way : {"Short rows", "Few outputs", "longer rows"}) CHECK(holds(unknown, way));
}

TEST_CASE("each section of knowledge, each example and each seed stays within its budget",
          "[prompt][families][budget]") {
  const auto templates = TemplateSet::load({k_templates, {}}).value();
  for (const auto& place : k_places) {
    for (const auto precision : {PrecisionClass::Strict, PrecisionClass::Fp16}) {
      auto request = request_at(place, precision);
      INFO(to_string(place.target) << " on " << place.architecture << ", " << to_string(precision));
      // Without sizes, sections tell everything.
      VerbatimTexts verbatim;
      const auto data = make_prompt_data(request, {}, verbatim);
      for (const auto& name : templates.names_under("knowledge/")) {
        const auto tokens = templates.render("knowledge/" + name, data, verbatim).value().text.size() / 4;
        INFO(name);
        CHECK(tokens <= k_section_tokens);
        CHECK(tokens > 20);
      }
      for (const auto& name : templates.names_under("examples/")) {
        const auto tokens = templates.render("examples/" + name, data, verbatim).value().text.size() / 4;
        INFO(name);
        CHECK(tokens <= k_example_tokens);
      }
      // A network has four topics at most, whichever they are.
      for (std::size_t i = 0; i < std::size(k_families); ++i) {
        for (const auto& description : {k_large_product_task, k_convolution_task, k_attention_task}) {
          request.description.facts = description.facts;
          request.description.level = TaskLevel::Network;
          request.description.facts->families = {k_families[i], k_families[(i + 1) % std::size(k_families)],
                                                 k_families[(i + 2) % std::size(k_families)],
                                                 description.facts->families.front()};
          request.task.text = "class Model:";
          CHECK(built(request).estimated_tokens <= k_seed_tokens);
        }
      }
    }
  }
}
