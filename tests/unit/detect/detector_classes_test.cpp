// Classes of code that the detector has to tell apart, each with the smallest text that shows it.

#include <kernelgen/detect/persistent_detector.hpp>

#include <algorithm>
#include <string>
#include <string_view>

#include "support/catch.hpp"

using namespace kernelgen;

namespace {

PersistenceReport report_on(const std::string& source, Target target = Target::Cuda) {
  return make_persistent_detector()->inspect(source, target);
}

std::string verdict(const std::string& source, Target target = Target::Cuda) {
  return std::string(to_string(report_on(source, target).verdict));
}

/// A CUDA source with one kernel, and its launch. `before` stands outside of the kernel.
std::string cuda(const std::string& body, const std::string& before = "") {
  return before +
         "\n__global__ void k(const float* x, const float* a, float* w, float* y, int T, int n) {\n"
         "const int tid = threadIdx.x;\n" +
         body +
         "\n}\n"
         "void run(const float* x, const float* a, float* w, float* y, int T, int n) {\n"
         "k<<<n, 128>>>(x, a, w, y, T, n);\n}\n";
}

/// A Triton source with one kernel, and its launch.
std::string triton(const std::string& body) {
  return "import triton\nimport triton.language as tl\n@triton.jit\ndef k(x, a, y, T, n: tl.constexpr):\n"
         "  i = tl.program_id(0) * n + tl.arange(0, n)\n" +
         body + "\ndef run(x, a, y):\n  k[(64,)](x, a, y, 512, 128)\n";
}

bool warns(const PersistenceReport& report, std::string_view name) {
  return std::any_of(report.warnings.begin(), report.warnings.end(),
                     [&](const DetectorWarning& warning) { return warning.name == name; });
}

}  // namespace

TEST_CASE("a name with several values in an iteration is not one value", "[detect][classes]") {
  // Online softmax: the score gets a new value from the running maximum, which is made of the old one.
  CHECK(verdict(cuda("float m = -1e30f, l = 0.f;\n"
                     "for (int t = 0; t < T; ++t) { float s = x[t] * a[tid]; float top = fmaxf(m, s);\n"
                     "l *= expf(m - top); s = s - top; s = expf(s); l += s; m = top; }\n"
                     "y[tid] = l;")) == "not-recurrent");
  CHECK(verdict(cuda("float m = -1e30f, l = 0.f, s;\n"
                     "for (int t = 0; t < T; ++t) { s = x[t]; m = fmaxf(m, s); s = s - m; l += s * s; }\n"
                     "y[tid] = l;")) == "not-recurrent");
  // The same with an array in registers, and in shared memory.
  CHECK(verdict(cuda("float m = -1e30f, l = 0.f, p[32], acc[32];\n"
                     "for (int t = 0; t < T; ++t) {\n"
                     "for (int j = 0; j < n; ++j) p[j] = x[t * n + j] * a[j];\n"
                     "float old = m; for (int j = 0; j < n; ++j) m = fmaxf(m, p[j]);\n"
                     "float scale = __expf(old - m); l *= scale;\n"
                     "for (int j = 0; j < n; ++j) { p[j] = __expf(p[j] - m); l += p[j]; }\n"
                     "for (int d = 0; d < n; ++d) { acc[d] *= scale; for (int j = 0; j < n; ++j)\n"
                     "acc[d] += p[j] * w[(t * n + j) * n + d]; } }\n"
                     "for (int d = 0; d < n; ++d) y[tid * n + d] = acc[d] / l;")) == "not-recurrent");
  CHECK(verdict(triton("  m = -1e30\n  l = 0.0\n  for t in range(T):\n    s = tl.load(x + t * n + i)\n"
                       "    top = tl.maximum(m, tl.max(s))\n    s = s - top\n    s = tl.exp(s)\n"
                       "    l = l * tl.exp(m - top) + tl.sum(s)\n    m = top\n  tl.store(y + i, l)"),
                Target::Triton) == "not-recurrent");
  // A value that is carried is found all the same.
  CHECK(verdict(cuda("float h = 0.f;\n"
                     "for (int t = 0; t < T; ++t) { float s = x[t]; s = s + a[tid] * h; s = tanhf(s); h = s; }\n"
                     "y[tid] = h;")) == "persistent");
  CHECK(verdict(cuda("float s = 0.f, h = 0.f;\n"
                     "for (int t = 0; t < T; ++t) { s = a[tid] * h; s += x[t]; h = tanhf(s); }\n"
                     "y[tid] = h;")) == "persistent");
}

TEST_CASE("a definition in every arm of a branch is a definition", "[detect][classes]") {
  const std::string head = "float v, l = 0.f;\nfor (int t = 0; t < T; ++t) {\n";
  CHECK(verdict(cuda(head + "if (t < n) v = x[t]; else v = 0.f;\nv = tanhf(v * a[tid]); y[t] = v; }")) ==
        "not-recurrent");
  CHECK(verdict(cuda(head + "if (t < n) { v = x[t]; } else if (t > 2 * n) { v = a[t]; } else { v = 1.f; }\n"
                            "v = tanhf(v); y[t] = v; }")) == "not-recurrent");
  CHECK(verdict(triton("  v = 0.0\n  for t in range(T):\n    if t < n:\n      v = tl.load(x + t)\n"
                       "    elif t < 2 * n:\n      v = tl.load(a + t)\n    else:\n      v = 0.0\n"
                       "    v = tl.sigmoid(v)\n    tl.store(y + t, v)"),
                Target::Triton) == "not-recurrent");
  // Without the last arm the value of the iteration before stays.
  CHECK(verdict(cuda("float v = 0.f;\nfor (int t = 0; t < T; ++t) {\n"
                     "if (t < n) { v = x[t]; }\nv = tanhf(v * a[tid]); y[t] = v; }")) == "persistent");
}

TEST_CASE("a use under the condition of the definition sees that definition", "[detect][classes]") {
  CHECK(verdict(cuda("float v = 0.f;\nfor (int t = 0; t < T; ++t) {\n"
                     "if (tid < n) { v = x[t]; }\n__syncthreads();\n"
                     "if (tid < n) { v = tanhf(v); y[t] = v; } }")) == "not-recurrent");
  CHECK(verdict(cuda("float v = 0.f;\nfor (int t = 0; t < T; ++t) {\n"
                     "if (tid < n) { v = x[t]; }\n__syncthreads();\n"
                     "if (tid > 2) { v = tanhf(v); y[t] = v; } }")) == "persistent");
}

TEST_CASE("consecutive updates of a state are one update", "[detect][classes]") {
  const auto loop = [](const std::string& step, const std::string& end) {
    return verdict(cuda("float h = 0.f;\nfor (int t = 0; t < T; ++t) { " + step + " }\n" + end));
  };
  CHECK(loop("h *= a[t]; h += x[t];", "y[tid] = h;") == "persistent");
  CHECK(loop("h *= a[t]; h += x[t]; y[t] = h;", "") == "persistent");
  CHECK(loop("h = h * a[t]; h = h + x[t];", "y[tid] = h;") == "persistent");
  CHECK(loop("h *= 0.5f; h += 0.5f * x[t];", "y[tid] = h;") == "persistent");
  // A product, a polynomial, and a sum that is rescaled by a counter.
  CHECK(loop("h *= a[t];", "y[tid] = h;") == "not-recurrent");
  CHECK(loop("h *= 0.5f; h += x[t];", "y[tid] = h;") == "not-recurrent");
  CHECK(loop("h *= t; h += x[t]; h *= 1.f / (t + 1);", "y[tid] = h;") == "not-recurrent");
}

TEST_CASE("scratch memory that every iteration fills before its reads carries nothing", "[detect][classes]") {
  const std::string head = "__shared__ float s[128];\nfor (int t = blockIdx.x; t < T; t += gridDim.x) {\n";
  CHECK(verdict(cuda(head + "if (tid < n) { s[tid] = x[t * n + tid]; }\n__syncthreads();\n"
                            "float sum = 0.f; for (int j = 0; j < n; ++j) sum += s[j];\n__syncthreads();\n"
                            "if (tid < n) { s[tid] = tanhf(s[tid] - sum); }\n__syncthreads();\n"
                            "if (tid < n) y[t * n + tid] = s[n - 1 - tid]; }")) == "not-recurrent");
  CHECK(verdict(cuda(head + "float v = x[t * n + tid]; v += __shfl_down_sync(~0u, v, 16);\n"
                            "if (tid % 32 == 0) s[tid / 32] = v;\n__syncthreads();\n"
                            "if (tid < 32) { v = s[tid]; v += __shfl_down_sync(~0u, v, 2); if (tid == 0) s[0] = v; }\n"
                            "__syncthreads();\ny[t * n + tid] = expf(x[t * n + tid] - s[0]); }")) == "not-recurrent");
  CHECK(verdict(cuda(head + "for (int j = tid; j < n; j += 128) s[j] = x[t * n + j];\n__syncthreads();\n"
                            "for (int j = tid; j < n; j += 128) { float v = s[n - 1 - j]; s[j] = tanhf(v); }\n"
                            "__syncthreads();\nfor (int j = tid; j < n; j += 128) y[t * n + j] = s[j]; }")) ==
        "not-recurrent");
  // Filled in the first iteration only, it is the state.
  CHECK(verdict(cuda("__shared__ float s[128];\nfor (int t = 0; t < T; ++t) {\n"
                     "if (t == 0) { s[tid] = a[tid]; }\n__syncthreads();\n"
                     "float sum = x[t]; for (int j = 0; j < n; ++j) sum += w[j] * s[j];\n__syncthreads();\n"
                     "s[tid] = tanhf(sum); }\ny[tid] = s[tid];")) == "persistent");
  CHECK(verdict(cuda("__shared__ float s[128];\ns[tid] = 0.f;\nfor (int t = 0; t < T; ++t) {\n"
                     "float sum = x[t]; for (int j = 0; j < n; ++j) sum += w[j] * s[j];\n__syncthreads();\n"
                     "if (tid < n) { s[tid] = tanhf(sum); }\n__syncthreads(); }\ny[tid] = s[tid];")) == "persistent");
}

TEST_CASE("maxima and reductions have many spellings", "[detect][classes]") {
  const auto loop = [](const std::string& state, const std::string& step) {
    return verdict(cuda(state + "\nfor (int t = 0; t < T; ++t) { float v = x[t] * a[tid]; " + step +
                        " }\n"
                        "y[tid] = best;"));
  };
  const std::string best = "float best = -1e30f; int at = 0; float l = 0.f;";
  CHECK(loop(best, "if (v > best) { best = v; at = t; }") == "not-recurrent");
  CHECK(loop(best, "if (v > best) { l = l * expf(best - v); best = v; }\nl += expf(v - best);") == "not-recurrent");
  CHECK(loop(best, "const bool more = v > best; if (more) { best = v; at = t; }") == "not-recurrent");
  for (const auto* maximum : {"__hmax2", "__hmin2", "__hmax", "__hmin", "__hmax_nan", "fmaxf", "fminf", "umax", "umin",
                              "llmax", "std::max", "std::min", "max", "__vmaxs2"}) {
    INFO(maximum);
    CHECK(loop(best, std::string("best = ") + maximum + "(best, v);") == "not-recurrent");
  }
  for (const auto* operation : {"|=", "&=", "^="}) {
    INFO(operation);
    CHECK(loop("unsigned best = 0;", std::string("best ") + operation + " __float_as_uint(v);") == "not-recurrent");
  }
  CHECK(loop("unsigned best = 0;", "best = best | __float_as_uint(v);") == "not-recurrent");
  CHECK(loop("bool best = true;", "best = best && v > 0.f;") == "not-recurrent");
}

TEST_CASE("Welford's moments are no state in any form", "[detect][classes]") {
  const std::string type = "struct Moments { float mean, m2, n; };\n";
  const std::string end = "\ny[tid] = s.mean + s.m2;";
  CHECK(verdict(cuda("Moments s{0.f, 0.f, 0.f};\nfor (int t = 0; t < T; ++t) { float v = x[t]; s.n += 1.f;\n"
                     "float d = v - s.mean; s.mean += d / s.n; s.m2 += d * (v - s.mean); }" +
                         end,
                     type)) == "not-recurrent");
  CHECK(verdict(cuda("float mean = 0.f, m2 = 0.f, c = 0.f;\nfor (int t = 0; t < T; ++t) update(x[t], mean, m2, c);\n"
                     "y[tid] = mean + m2;",
                     "__device__ void update(float v, float& mean, float& m2, float& c) {\n"
                     "c += 1.f; float d = v - mean; mean += d / c; m2 += d * (v - mean); }\n")) == "not-recurrent");
  CHECK(verdict(cuda("Moments s{0.f, 0.f, 0.f};\nfor (int t = 0; t < T; ++t) add(s, x[t]);" + end,
                     type + "__device__ void add(Moments& s, float v) { s.n += 1.f; float d = v - s.mean;\n"
                            "s.mean += d / s.n; s.m2 += d * (v - s.mean); }\n")) == "not-recurrent");
  for (const auto* add :
       {"__device__ Moments add(Moments s, float v) { Moments r; r.n = s.n + 1.f; float d = v - s.mean;\n"
        "r.mean = s.mean + d / r.n; r.m2 = s.m2 + d * (v - r.mean); return r; }\n",
        "__device__ Moments add(Moments s, float v) { s.n += 1.f; float d = v - s.mean;\n"
        "s.mean += d / s.n; s.m2 += d * (v - s.mean); return s; }\n"}) {
    INFO(add);
    CHECK(verdict(cuda("Moments s{0.f, 0.f, 0.f};\nfor (int t = 0; t < T; ++t) s = add(s, x[t]);" + end, type + add)) ==
          "not-recurrent");
  }
  CHECK(verdict(cuda("Moments s{0.f, 0.f, 0.f};\nfor (int t = 0; t < T; ++t) s = add(s, x[t]);" + end,
                     type + "__device__ Moments add(Moments s, float v) { s.mean = tanhf(s.mean * s.n + v);\n"
                            "return s; }\n")) == "persistent");
  CHECK(verdict(cuda(
            "Cell s{};\nfor (int t = 0; t < T; ++t) s = step(s, x[t]);\ny[tid] = s.h[0];",
            "struct Cell { float h[4]; float c; };\n__device__ Cell step(Cell s, float v) { Cell r;\n"
            "for (int i = 0; i < 4; ++i) { float a = v; for (int j = 0; j < 4; ++j) a += s.h[j]; r.h[i] = tanhf(a); }\n"
            "r.c = v; return r; }\n")) == "persistent");
  // A member of a struct may be a state.
  CHECK(verdict(cuda("Moments s{0.f, 0.f, 0.f};\nfor (int t = 0; t < T; ++t) { s.n += 1.f;\n"
                     "s.mean = tanhf(a[tid] * s.mean + x[t]); }" +
                         end,
                     type)) == "persistent");
}

TEST_CASE("casts, brackets and const do not make another place", "[detect][classes]") {
  const auto loop = [](const std::string& load, const std::string& store) {
    return verdict(cuda("for (int t = tid; t < T; t += 128) { float4 v = " + load + "; v.x = tanhf(v.x + x[t]); " +
                        store + " = v; }"));
  };
  for (const auto* load :
       {"*(const float4*)&w[t * 4]", "*(float4*)(w + t * 4)", "*reinterpret_cast<float4*>(&w[t * 4])",
        "*reinterpret_cast<const float4*>(w + t * 4)", "reinterpret_cast<float4*>(w + t * 4)[0]"})
    for (const auto* store : {"*(float4*)&w[t * 4]", "*(float4*)(w + t * 4)", "*reinterpret_cast<float4*>(w + t * 4)",
                              "*reinterpret_cast<float4*>(&w[t * 4])"}) {
      INFO(load << " and " << store);
      CHECK(loop(load, store) == "not-recurrent");
    }
  CHECK(loop("((const float4*)w)[t]", "((float4*)w)[t]") == "not-recurrent");
  CHECK(loop("*(w + t)", "w[t]") == "not-recurrent");
  CHECK(loop("*(float4*)&w[t * 4 - 4]", "*(float4*)&w[t * 4]") == "persistent");
}

TEST_CASE("pointers that only an outer loop swaps are distinct in the inner one", "[detect][classes]") {
  const std::string inner = "for (int j = 1; j < n; ++j) to[j] = tanhf(from[j] + from[j - 1] * x[j]);\n";
  CHECK(verdict(cuda("float* from = w; float* to = y;\nfor (int t = 0; t < 4; ++t) {\n" + inner +
                     "float* old = from; from = to; to = old; }")) == "not-recurrent");
  CHECK(verdict(cuda("float* from = w; float* to = y;\nfor (int t = 0; t < 4; ++t) {\n" + inner +
                     "swap(from, to); }")) == "not-recurrent");
  CHECK(verdict(cuda("float* from = w; float* to = y;\nfor (int t = 0; t < T; ++t) {\n" + inner +
                     "float* old = from; from = to; to = old; }")) == "persistent");
  CHECK(verdict(cuda("float* from = w; float* to = y;\nfor (int t = 0; t < T; ++t) {\n" + inner +
                     "swap(from, to); }")) == "persistent");
}

TEST_CASE("numbers that the text computes bound a loop", "[detect][classes]") {
  const auto loop = [](const std::string& constants, const std::string& end) {
    return verdict(cuda("float h = 0.f;\nfor (int t = 0; t < " + end +
                            "; ++t) h = tanhf(h * a[tid] + x[t]);\n"
                            "y[tid] = h;",
                        constants));
  };
  CHECK(loop("constexpr int N = 64; constexpr int V = N / 16;", "V") == "not-recurrent");
  CHECK(loop("#define N 64\n#define V (N / 16)\n", "V") == "not-recurrent");
  CHECK(loop("static const int N = 2 * 4;", "N") == "not-recurrent");
  CHECK(loop("constexpr int N = 64;", "N / 16") == "not-recurrent");
  CHECK(loop("constexpr int N = 64;", "N * 16") == "persistent");
  CHECK(loop("constexpr int N = 64; constexpr int V = N * 16;", "V") == "persistent");
}

TEST_CASE("a variable may be called like a type", "[detect][classes]") {
  CHECK(verdict(cuda("float h_t = 0.f;\nfor (int t = 0; t < T; ++t) { h_t = tanhf(h_t * a[tid] + x[t]); }\n"
                     "y[tid] = h_t;")) == "persistent");
}

TEST_CASE("an output that overwrites its input is a scan", "[detect][classes]") {
  CHECK(verdict(cuda("float h = 0.f;\nfor (int t = 0; t < T; ++t) { h = h * a[tid] + w[t * n + tid]; "
                     "w[t * n + tid] = h; }")) == "persistent");
  CHECK(verdict(cuda("float h = 0.f;\nfor (int t = 0; t < T; ++t) { h += w[t * n + tid]; w[t * n + tid] = h; }")) ==
        "persistent");
  CHECK(verdict(cuda("for (int t = 0; t < T; ++t) { w[t * n + tid] = tanhf(w[t * n + tid]); }")) == "not-recurrent");
}

TEST_CASE("a pointer made of a pointer leads to the same memory", "[detect][classes]") {
  CHECK(verdict(cuda("float* row = w + blockIdx.x * n;\nfloat* mine = row + 1;\nfloat* last = mine;\n"
                     "for (int t = 0; t < T; ++t) { float s = x[t]; for (int j = 0; j < n; ++j) s += a[j] * last[j];\n"
                     "__syncthreads(); w[blockIdx.x * n + tid] = tanhf(s); __syncthreads(); }")) == "persistent");
}

TEST_CASE("a decay has many spellings", "[detect][classes]") {
  const auto loop = [](const std::string& step, const std::string& before = "") {
    return verdict(cuda(
        "float h = 0.f;\nfor (int t = 0; t < T; ++t) { const float v = x[t], g = a[t]; " + step + " }\ny[tid] = h;",
        before));
  };
  CHECK(loop("h += g * (v - h);") == "persistent");
  CHECK(loop("h = h + g * (v - h);") == "persistent");
  CHECK(loop("h += 0.1f * (v - h);") == "persistent");
  CHECK(loop("h = fmaf(g, h - v, v);") == "persistent");
  CHECK(loop("h = fmaf(g, h, v);") == "persistent");
  CHECK(loop("h = g * (h - v) + v;") == "persistent");
  CHECK(loop("h = step(h, g, v);", "__device__ float step(float h, float g, float v) { return g * h + v; }") ==
        "persistent");
  CHECK(loop("step(h, g, v);", "__device__ void step(float& h, float g, float v) { h = g * h + v; }") == "persistent");
  // A mean of a counted number of values.
  CHECK(loop("h += (v - h) / (t + 1);") == "not-recurrent");
  CHECK(loop("h += (v - h) * (1.f / (t + 1));") == "not-recurrent");
  // A sum that a running maximum rescales in a helper.
  CHECK(verdict(cuda("float m = -1e30f, l = 0.f;\nfor (int t = 0; t < T; ++t) { float top = fmaxf(m, x[t]);\n"
                     "l = merge(l, m - top, x[t] - top); m = top; }\ny[tid] = l;",
                     "__device__ float merge(float l, float d, float e) { return l * expf(d) + expf(e); }")) ==
        "not-recurrent");
}

TEST_CASE("a ModelNew that reaches no kernel has none", "[detect][classes]") {
  const std::string kernel =
      "import torch\nimport triton\nimport triton.language as tl\n@triton.jit\ndef k(x, y, T):\n  h = 0.0\n"
      "  for t in range(T):\n    h = tl.sigmoid(h * 0.5 + tl.load(x + t))\n  tl.store(y, h)\n"
      "def run(x, y):\n  k[(64,)](x, y, 512)\n";
  const auto model = [&](const std::string& forward) {
    return verdict(kernel + "class ModelNew(torch.nn.Module):\n  def forward(self, x):\n    " + forward + "\n",
                   Target::Triton);
  };
  CHECK(model("return torch.relu(x)") == "unknown");
  CHECK(model("run(x, x)\n    return x") == "persistent");
}

TEST_CASE("the method of another object is no recursion", "[detect][classes]") {
  const auto model = [&](const std::string& call) {
    return verdict(
        "import torch\nimport triton\nimport triton.language as tl\n@triton.jit\ndef k(x, y, n):\n"
        "  i = tl.program_id(0)\n  tl.store(y + i, tl.load(x + i) * 2)\n"
        "class ModelNew(torch.nn.Module):\n  def __init__(self):\n    super().__init__()\n"
        "    self.inner = torch.nn.Linear(3, 3)\n  def forward(self, x):\n    y = torch.empty_like(x)\n    " +
            call + "\n    k[(64,)](x, y, 128)\n    return y\n",
        Target::Triton);
  };
  CHECK(model("x = self.inner.forward(x)") == "not-recurrent");
  CHECK(model("x = super().forward(x)") == "not-recurrent");
  CHECK(model("x = other.forward(x)") == "not-recurrent");
  CHECK(model("x = self.forward(x)") == "per-step");
}

TEST_CASE("memory of one block needs no barrier of the grid", "[detect][classes]") {
  const auto step = [](const std::string& read) {
    return report_on(
        cuda("const int b = blockIdx.x; float* mine = w + b * n;\n"
             "for (int t = 0; t < T; ++t) { float s = x[t];\n" +
                 read + "__syncthreads(); w[b * n + tid] = tanhf(s); __syncthreads(); }",
             "__device__ float dot(const float* p, const float* q, int n) {\n"
             "float s = 0.f; for (int j = 0; j < n; ++j) s += p[j] * q[j]; return s; }\n"
             "__device__ void dot_into(float* s, const float* p, const float* q, int n) {\n"
             "for (int j = 0; j < n; ++j) *s += p[j] * q[j]; }\n"));
  };
  for (const auto* read :
       {"for (int j = 0; j < n; ++j) s += a[j] * w[b * n + j];\n", "for (int j = 0; j < n; ++j) s += a[j] * mine[j];\n",
        "s += dot(a, w + b * n, n);\n", "s += dot(a, &w[b * n], n);\n", "dot_into(&s, a, w + b * n, n);\n"}) {
    INFO(read);
    CHECK(to_string(step(read).verdict) == "persistent");
    CHECK_FALSE(warns(step(read), "unsynchronized_state"));
  }
  CHECK(warns(step("for (int j = 0; j < n * 64; ++j) s += a[j] * w[j];\n"), "unsynchronized_state"));
}

TEST_CASE("units that the threads share are not serial", "[detect][classes]") {
  const auto report = report_on(
      cuda("__shared__ float h[128];\nfor (int t = 0; t < T; ++t) { float next[4];\n"
           "for (int u = 0; u < n; ++u) { float s = x[t]; for (int j = 0; j < T; ++j) s += w[u * T + j] * h[j];\n"
           "h[tid * n + u] = tanhf(s); }\n__syncthreads(); }\ny[tid] = h[tid];"));
  CHECK(to_string(report.verdict) == "persistent");
  CHECK_FALSE(warns(report, "serial_hidden"));
}

TEST_CASE("the reason names the state, not a scratch value on its way", "[detect][classes]") {
  const auto report = report_on(cuda(
      "extern __shared__ float all[]; float* h = all; float* s = all + n;\n"
      "for (int t = 0; t < T; ++t) { product(w, h, s, n); __syncthreads(); gate(x + t * n, s, h, n); }\ny[tid] = "
      "h[tid];",
      "__device__ void product(const float* W, const float* h, float* out, int n) {\n"
      "for (int r = threadIdx.x; r < n; r += 128) { float s = 0.f; for (int k = 0; k < n; ++k) s += W[r * n + k] * "
      "h[k];\n"
      "out[r] = s; } }\n"
      "__device__ void gate(const float* x, const float* s, float* h, int n) {\n"
      "for (int j = threadIdx.x; j < n; j += 128) { float z = tanhf(x[j] + s[j]); h[j] = fmaf(z, h[j] - z, z); } }\n"));
  CHECK(to_string(report.verdict) == "persistent");
  CHECK(report.reason.find("'h'") != report.reason.npos);
}

TEST_CASE("the reason names the state, not a sum that depends on it", "[detect][classes]") {
  const auto report = report_on(
      cuda("float h = 0.f, mean = 0.f, sum = 0.f;\nfor (int t = 0; t < T; ++t) {\n"
           "mean = 0.9f * mean + 0.1f * x[t]; h = tanhf(h * a[tid] + mean); sum += h; y[t * n + tid] = sum; }"));
  CHECK(to_string(report.verdict) == "persistent");
  CHECK(report.reason.find("'h'") != report.reason.npos);
}

TEST_CASE("parameters of a template with defaults hide no kernel", "[detect][classes]") {
  for (const char* header : {"template <int W = 64>", "template <const unsigned W = 64, bool V = false>",
                             "template <typename T = float, int W = (1 << 3)>", "template <class T, class = void>"})
    CHECK(verdict(std::string(header) +
                  "\n__global__ void k(float* y, const float* x, int T) {\n"
                  "float h = 0.f; for (int t = 0; t < T; ++t) h = tanhf(h + x[t]); y[0] = h; }\n") == "persistent");
}

TEST_CASE("a smallest number bounds a loop", "[detect][classes]") {
  const auto loop = [](const std::string& header) {
    return cuda("float h = 0.f;\n" + header + " { h = tanhf(h + x[t]); y[t] = h; }");
  };
  CHECK(verdict(loop("for (int t = 2; t < min(16, T); ++t)")) == "not-recurrent");
  CHECK(verdict(loop("for (int t = 0; t < std::min(T, 8); t++)")) == "not-recurrent");
  CHECK(verdict(loop("for (int t = 0; t < min(64, T); ++t)")) == "persistent");
  CHECK(verdict(loop("for (int t = 0; t < max(16, T); ++t)")) == "persistent");
  CHECK(verdict(loop("for (int t = 0; t < min(16, T) * n; ++t)")) == "persistent");
  const auto triton = [](const std::string& range) {
    return verdict(
        "import triton\nimport triton.language as tl\n@triton.jit\ndef k(x, y, T):\n    h = 0.0\n    for t in " +
            range + ":\n        h = tl.sigmoid(h + tl.load(x + t))\n        tl.store(y + t, h)\n",
        Target::Triton);
  };
  CHECK(triton("range(2, min(16, T - 4))") == "not-recurrent");
  CHECK(triton("range(min(16, T))") == "not-recurrent");
  CHECK(triton("range(min(16, T), T)") == "persistent");
  CHECK(triton("range(T, min(16, T), -1)") == "persistent");
}

TEST_CASE("sizes of types and qualified constants bound a loop", "[detect][classes]") {
  const std::string body = "float h = 0.f; for (int t = 0; t < sizes::lanes; ++t) { h = tanhf(h + x[t]); y[t] = h; }";
  CHECK(verdict(cuda(body, "namespace sizes { constexpr int lanes = 16 / sizeof(float); }")) == "not-recurrent");
  CHECK(verdict(cuda(body, "namespace sizes { constexpr int lanes = 1024 / sizeof(float); }")) == "persistent");
  CHECK(verdict(cuda(body, "namespace sizes { constexpr int lanes = 16 / sizeof(Pack); }")) == "persistent");
}

TEST_CASE("a launcher with the name of its kernel, and an overload, are no recursion", "[detect][classes]") {
  const std::string kernel =
      "__global__ void scale(float* y, const float* x, int n) { y[threadIdx.x] = 2.f * x[threadIdx.x]; }\n";
  CHECK(verdict(kernel + "void scale(float* y, const float* x, int n, int b) { scale<<<n, b>>>(y, x, n); }\n") ==
        "not-recurrent");
  CHECK(verdict(kernel + "void run(float* y, const float* x, int n) { scale<<<n, 32>>>(y, x, n); }\n"
                         "void run(float* y, const float* x) { run(y, x, 64); }\n") == "not-recurrent");
  CHECK(verdict(kernel + "void run(float* y, float* x, int n) { scale<<<n, 32>>>(y, x, n); run(x, y, n - 1); }\n") ==
        "per-step");
}

TEST_CASE("the greatest absolute value is a maximum", "[detect][classes]") {
  CHECK(verdict(cuda("float m = 0.f; for (int t = 0; t < T; ++t) m = fmaxf(fabsf(m), fabsf(x[t]));\ny[tid] = m;")) ==
        "not-recurrent");
}

TEST_CASE("a specialization of a kernel is a kernel", "[detect][classes]") {
  CHECK(verdict("template <>\n__global__ void k<ns::Half>(float* y, const float* x, int T) {\n"
                "float h = 0.f; for (int t = 0; t < T; ++t) h = tanhf(h + x[t]); y[0] = h; }\n") == "persistent");
  CHECK(verdict("template <>\n__global__ void k<int>(float* y) { y[0] = 1.f; }\n") == "not-recurrent");
}

TEST_CASE("an inner variable that hides a parameter leads to no memory of it", "[detect][classes]") {
  CHECK(
      verdict(cuda("__shared__ float k[1024]; float s[64];\n"
                   "for (int u = 0; u < T; ++u) { const float y = k[u]; s[0] += a[u] * y; }\n"
                   "for (int j = 0; j < n; ++j) { const float* q = k + 8 * j; s[j] += a[j] * q[1]; y[j] = s[j]; }")) ==
      "not-recurrent");
}

TEST_CASE("data divided by the state is no layer", "[detect][classes]") {
  CHECK(verdict(cuda("float p = a[0]; int c = 0;\n"
                     "for (int i = 1; i < T; ++i) { float d = a[i] - x[i] * x[i] / p; c += d < 0.f ? 1 : 0; p = d; }\n"
                     "y[tid] = c;")) == "persistent");
}

TEST_CASE("a decay by data is one beside another by a counter", "[detect][classes]") {
  CHECK(
      verdict(cuda("float h = 0.f; for (int i = 0; i < T; ++i) { float g = a[i]; h *= expf(g); h *= expf(w[0] * min(n, "
                   "T - i * n)); h += x[i]; }\ny[tid] = h;")) == "persistent");
  CHECK(
      verdict(cuda("float h = 0.f; for (int i = 1; i < T; ++i) { h *= (i - 1.f) / i; h += x[i] / i; }\ny[tid] = h;")) ==
      "not-recurrent");
}

TEST_CASE("an unknown function sets what has no value before", "[detect][classes]") {
  const std::string scan =
      "float carry = 0.f;\nfor (int f = 0; f < T; f += 128) {\nint at = f + tid; float v = x[at]; float sum; float "
      "all;\n"
      "Scan(temp).Inclusive(v, sum, all); sum = sum + carry; carry = carry + all;\n";
  CHECK(verdict(cuda(scan + "y[at] = sum; }")) == "persistent");
  CHECK(verdict(cuda(scan + "bool last = at % n == n - 1; if (last) y[at] = sum; }")) == "persistent");
  CHECK(verdict(cuda(scan + "}\ny[tid] = carry;")) == "not-recurrent");
}

TEST_CASE("a function that writes a member, and reads none that it writes, carries nothing", "[detect][classes]") {
  const auto source = [](const std::string& methods, const std::string& body) {
    return "__global__ void f(float* y, const float* x, int t) { y[threadIdx.x] = x[threadIdx.x] * t; }\n"
           "struct Scene { float* a; float* b; float* c;\n" +
           methods + "};\nvoid run(Scene scene, int T) { for (int t = 0; t < T; ++t) {" + body + "} }\n";
  };
  CHECK(verdict(source("void draw(int t) { f<<<1, 32>>>(this->a, this->b, t); }", "scene.draw(t);")) ==
        "not-recurrent");
  CHECK(verdict(source("void draw(int t) { f<<<1, 32>>>(this->a, this->b, t); f<<<1, 32>>>(this->b, this->a, t); }",
                       "scene.draw(t);")) == "per-step");
  CHECK(verdict(source("void one(int t) { f<<<1, 32>>>(this->a, this->b, t); }\n"
                       "void two(int t) { f<<<1, 32>>>(this->b, this->a, t); }",
                       "scene.one(t); scene.two(t);")) == "per-step");
}

TEST_CASE("a cast on the left makes no other place", "[detect][classes]") {
  const auto update = [](const std::string& place) {
    return cuda("for (int t = 0; t < T; ++t) { reinterpret_cast<float*>(y)[t * n + tid] = tanhf(y[" + place +
                "]) + x[t]; }");
  };
  CHECK(verdict(update("t * n + tid")) == "not-recurrent");
  CHECK(verdict(update("t * n + tid - n")) == "persistent");
}
