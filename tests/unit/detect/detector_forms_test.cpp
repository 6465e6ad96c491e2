// Forms of text that the detector met in published code, each with the smallest text that shows it.

#include <kernelgen/detect/persistent_detector.hpp>

#include <string>

#include "support/catch.hpp"

using namespace kernelgen;

namespace {

std::string cuda_verdict(const std::string& source) {
  return std::string(to_string(make_persistent_detector()->inspect(source, Target::Cuda).verdict));
}

/// A kernel with this body, after `before`.
std::string kernel(const std::string& body, const std::string& before = "") {
  return before + "\n__global__ void k(const float* x, float* y, int T, int n) {\n" + body + "\n}\n";
}

/// h = tanh(h + x): what has a kernel with it is persistent.
const std::string k_recurrence = "float h = 0.f; for (int t = 0; t < T; ++t) h = tanhf(h + x[t]); y[0] = h;";

}  // namespace

TEST_CASE("a member of an object may be a loop's variable", "[detect][forms]") {
  const std::string helper =
      "template <class Op> __device__ void run(int code, State& s) { if (code == Op::code) s.top = s.end; }";
  CHECK(cuda_verdict(helper + "__global__ void k(Globals g) { State s; for (s.at = 0; s.at < g.rows(); s.at++) { "
                              "run<A>(g.code[0], s); } }") == "not-recurrent");
  CHECK(cuda_verdict("__global__ void k(State s) { for (s.at = 0; s.at < s.end; s.at++) { } }") == "not-recurrent");
}

TEST_CASE("lines may end with two characters", "[detect][forms]") {
  auto source = kernel(k_recurrence, "#define CHECK(call) \\\n  do { \\\n    call; \\\n  } while (0)\n");
  std::string with_returns;
  for (const char c : source) with_returns += c == '\n' ? std::string("\r\n") : std::string(1, c);
  CHECK(cuda_verdict(source) == "persistent");
  CHECK(cuda_verdict(with_returns) == "persistent");
}

TEST_CASE("a template may have many parameters", "[detect][forms]") {
  std::string parameters = "const int A0 = 0";
  for (int i = 1; i < 40; ++i) parameters += ", const int A" + std::to_string(i) + " = " + std::to_string(i);
  CHECK(cuda_verdict(kernel(k_recurrence, "template <" + parameters + ">")) == "persistent");
}

TEST_CASE("a branch with #error is not the one that is compiled", "[detect][forms]") {
  CHECK(cuda_verdict("#ifndef HAVE_LIBRARY\n#error \"the library is needed\"\n#else\n" + kernel(k_recurrence) +
                     "#endif\n") == "persistent");
}

TEST_CASE("a kernel may stand in the second branch of a condition that the text does not decide", "[detect][forms]") {
  CHECK(cuda_verdict("#if VERSION < 1004\nint main() { return 0; }\n#else\n" + kernel(k_recurrence) + "#endif\n") ==
        "persistent");
}

TEST_CASE("a pointer to an element is a pointer, and reads nothing", "[detect][forms]") {
  // Sums that are rescaled by a running maximum, each through a pointer that the inner loop moves.
  for (const std::string place :
       {"&sums[j]", "&sums[j][0]", "(float*)&sums[j][0]", "reinterpret_cast<float*>(&(sums[j][0]))"})
    CHECK(cuda_verdict(
              kernel("float sums[8][4]; float top = -1e30f;\n"
                     "for (int t = 0; t < T; ++t) {\n  float now = fmaxf(top, x[t]); float r = __expf(top - now);\n"
                     "  for (int j = 0; j < n; ++j) { float* p = " +
                     place +
                     "; p[0] = r * p[0] + x[t * n + j]; }\n"
                     "  top = now;\n}\ny[0] = sums[0][0];")) == "not-recurrent");
}

TEST_CASE("an unknown function with nothing but constants sets an array", "[detect][forms]") {
  const auto body = [](const std::string& reset) {
    return kernel("float h[4]; h[0] = 0.f; for (int t = 0; t < T; ++t) { " + reset +
                  " h[0] = tanhf(h[0] + x[t]); y[t] = h[0]; }");
  };
  CHECK(cuda_verdict(body("fill_registers<float, 4>(h, 0.0f);")) == "not-recurrent");
  CHECK(cuda_verdict(body("use_registers<float, 4>(h, t);")) == "persistent");
}

TEST_CASE("a function that is given reduces what it gets with the next element", "[detect][forms]") {
  const std::string helper =
      "template <class Op> __device__ float reduce(Op op, const float* x, int n) {\n"
      "  float sum = 0.f; for (int i = 0; i < n; ++i) sum = op(sum, x[i]); return sum; }\n";
  CHECK(cuda_verdict(kernel("y[threadIdx.x] = reduce(Add(), x, T);", helper)) == "not-recurrent");
}

TEST_CASE("a bisection carries no state", "[detect][forms]") {
  const auto search = [](const std::string& middle) {
    return kernel("int low = 0, high = T; while (low + 1 < high) { const int at = " + middle +
                  "; if (x[at] <= n) low = at; else high = at; }\ny[threadIdx.x] = low;");
  };
  CHECK(cuda_verdict(search("(low + high) >> 1")) == "not-recurrent");
  CHECK(cuda_verdict(search("low + (high - low) / 2")) == "not-recurrent");
}

TEST_CASE("a product that is added to its last argument is a sum", "[detect][forms]") {
  for (const std::string call :
       {"gemm(mma, sum, a(_, _, t), b(_, _, t), sum);", "gemm(mma, a(_, _, t), b(_, _, t), sum);"})
    CHECK(cuda_verdict(kernel("Tensor sum = make(x); for (int t = 0; t < T; ++t) { " + call + " }\nstore(y, sum);")) ==
          "not-recurrent");
}

TEST_CASE("bytes of a variable may be cleared", "[detect][forms]") {
  CHECK(cuda_verdict(
            kernel("float h; for (int t = 0; t < T; ++t) { memset(&h, 0, sizeof(h)); h = tanhf(h + x[t]); y[t] = "
                   "h; }")) == "not-recurrent");
}

TEST_CASE("elements of a tensor may be called", "[detect][forms]") {
  const auto body = [](const std::string& update) {
    return kernel("Tensor sum = make(x); for (int t = 0; t < T; ++t) { for (int i = 0; i < n; ++i) " + update +
                  " }\ny[0] = sum(0);");
  };
  CHECK(cuda_verdict(body("sum(i) = sum(i) + x[t * n + i];")) == "not-recurrent");
  CHECK(cuda_verdict(body("sum(i) += x[t * n + i];")) == "not-recurrent");
  CHECK(cuda_verdict(body("sum(i) = tanhf(sum(i) + x[t * n + i]);")) == "persistent");
  CHECK(cuda_verdict(
            kernel("Tensor h = make(x); for (int t = 0; t < T; ++t) { clear(h); h(0) = tanhf(h(0) + x[t]); y[t] = "
                   "h(0); }")) == "not-recurrent");
  CHECK(cuda_verdict(
            kernel("Tensor h = make(x); for (int t = 0; t < T; ++t) { fill(h, 0.5f); h(0) = tanhf(h(0) + x[t]); y[t] = "
                   "h(0); }")) == "not-recurrent");
}

TEST_CASE("statements that each read where they write mix no elements", "[detect][forms]") {
  const auto body = [](const std::string& second) {
    return kernel(
        "float h[4]; float top = -1e30f; for (int t = 0; t < T; ++t) {\n"
        "  float now = fmaxf(top, x[0]); float r = __expf(top - now);\n"
        "  h[0] = r * h[0] + x[t]; h[1] = " +
        second + "; top = now; }\ny[0] = h[0] + h[1];");
  };
  CHECK(cuda_verdict(body("r * h[1] + x[t]")) == "not-recurrent");
  CHECK(cuda_verdict(body("r * h[1] + h[0] * h[1]")) == "persistent");
}

TEST_CASE("a member of an argument has no place in the names of variables", "[detect][forms]") {
  CHECK(cuda_verdict(
            "struct P { const void* x; void* y; int n; };\n__global__ void k(P p) { for (int i = threadIdx.x; i < p.n; "
            "i += blockDim.x) { float x = (float)((const half*)p.x)[i]; x += 1.f; ((half*)p.y)[i] = tanhf(x); } }\n") ==
        "not-recurrent");
}

TEST_CASE("an assignment may choose its target", "[detect][forms]") {
  const auto body = [](const std::string& start) {
    return kernel("float u = 0.f; for (int t = 0; t < T; ++t) { " + start +
                  " float v = x[t]; (n > 3 ? u : v) += 1.f; y[t] = tanhf(u) * v; u = tanhf(u + v); }");
  };
  CHECK(cuda_verdict(body("u = x[t];")) == "not-recurrent");
  CHECK(cuda_verdict(body("")) == "persistent");
}

TEST_CASE("a type that the text names makes no other value", "[detect][forms]") {
  const auto kernel_of = [](const std::string& update) {
    return "template <typename In> __global__ void k(const In* x, In* y, int T) {\n  In top = In(0);\n"
           "  for (int t = 0; t < T; ++t) top = " +
           update + ";\n  y[0] = top;\n}\n";
  };
  CHECK(cuda_verdict(kernel_of("In(fmaxf(float(top), float(x[t])))")) == "not-recurrent");
  CHECK(cuda_verdict(kernel_of("In(tanhf(float(top) + float(x[t])))")) == "persistent");
  CHECK(cuda_verdict(kernel("int sum = 0; for (int t = 0; t < T; ++t) sum = __dp4a(a[t], b[t], sum);\ny[0] = sum;")) ==
        "not-recurrent");
}

TEST_CASE("the number of a thread is no generator's state", "[detect][forms]") {
  const auto body = [](const std::string& declaration) {
    return kernel(declaration + " float sum = 0.f; for (int t = 0; t < T; ++t) sum += draw_rand(state); y[0] = sum;");
  };
  CHECK(cuda_verdict(body("const unsigned state = threadIdx.x * n;")) == "not-recurrent");
  CHECK(cuda_verdict(body("unsigned state = threadIdx.x * n;")) == "persistent");
}

TEST_CASE("the body of a with statement always runs", "[detect][forms]") {
  const std::string head =
      "import triton\nimport triton.language as tl\n@triton.jit\ndef k(x, y, T, N: tl.constexpr):\n"
      "    h = tl.zeros((N,), tl.float32)\n    o = tl.arange(0, N)\n    for t in range(T):\n";
  const auto verdict = [&](const std::string& body) {
    return std::string(to_string(make_persistent_detector()->inspect(head + body, Target::Triton).verdict));
  };
  CHECK(verdict("        with task(0):\n            h = tl.load(x + t * N + o)\n        with task(1):\n"
                "            h = tl.sigmoid(h)\n            tl.store(y + t * N + o, h)\n") == "not-recurrent");
  CHECK(verdict("        with task(0):\n            v = tl.load(x + t * N + o)\n        with task(1):\n"
                "            h = tl.sigmoid(h + v)\n            tl.store(y + t * N + o, h)\n") == "persistent");
}

TEST_CASE("commas between template arguments separate no values", "[detect][forms]") {
  const auto body = [](const std::string& call) {
    return kernel("float top = -1e30f; for (int t = 0; t < T; ++t) { top = " + call + "; y[t] = x[t]; }\ny[0] = top;");
  };
  CHECK(cuda_verdict(body("warp_reduce_max<float, 4>(fmaxf(top, x[t]))")) == "not-recurrent");
  CHECK(cuda_verdict(body("unknown<float, 4>(top, x[t])")) == "persistent");
}

TEST_CASE("pointers of other types to one element lead to one place", "[detect][forms]") {
  const auto body = [](const std::string& second) {
    return kernel(
        "float h[8][4]; for (int t = 0; t < T; ++t) {\n"
        "  float* a = reinterpret_cast<float*>(&(h[t][0]));\n  half* b = (half*)&h[" +
        second + "][0];\n  b[0] = __float2half(x[t] * a[0]); b[1] = __float2half(x[t] * a[1]); }\ny[0] = h[0][0];");
  };
  CHECK(cuda_verdict(body("t")) == "not-recurrent");
  CHECK(cuda_verdict(body("t + 1")) == "persistent");
}

TEST_CASE("the last operands of an instruction that multiplies matrices are added", "[detect][forms]") {
  const std::string helper =
      "__device__ void product(float& d0, float& d1, unsigned a, unsigned b, float c0, float c1) {\n"
      "  asm volatile(\"mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1}, {%2}, {%3}, {%4,%5};\"\n"
      "               : \"=f\"(d0), \"=f\"(d1) : \"r\"(a), \"r\"(b), \"f\"(c0), \"f\"(c1)); }\n";
  const auto body = [&](const std::string& a) {
    return kernel("float c0 = 0.f, c1 = 0.f; for (int t = 0; t < T; ++t) { float d0, d1; product(d0, d1, " + a +
                      ", w[t], c0, c1); c0 = d0; c1 = d1; }\ny[0] = c0 + c1;",
                  helper);
  };
  CHECK(cuda_verdict(body("v[t]")) == "not-recurrent");
  CHECK(cuda_verdict(body("bits(c0)")) == "persistent");
}

TEST_CASE("bytes of an object may be cleared", "[detect][forms]") {
  const auto body = [](const std::string& start) {
    return kernel("Vec h; for (int t = 0; t < T; ++t) { " + start +
                  " if (t < n) h.load_from(x, t); for (int i = 0; i < 8; ++i) h.elt[i] = tanhf(h.elt[i] + x[i]); "
                  "h.store_to(y, t); }");
  };
  CHECK(cuda_verdict(body("memset(&h, 0, sizeof(h));")) == "not-recurrent");
  CHECK(cuda_verdict(body("")) == "persistent");
}

TEST_CASE("a function of a namespace that reduces adds", "[detect][forms]") {
  const auto body = [](const std::string& function) {
    return kernel("float sum = 0.f; for (int t = 0; t < T; ++t) sum = " + function + "(sum, x[t]);\ny[0] = sum;");
  };
  CHECK(cuda_verdict(body("reduce::element<rop::Add, float>")) == "not-recurrent");
  CHECK(cuda_verdict(body("cell::element<rop::Add, float>")) == "persistent");
}

TEST_CASE("a comparison chooses elements and is no weight of a layer", "[detect][forms]") {
  const std::string source =
      "import triton\nimport triton.language as tl\n@triton.jit\ndef k(x, y, N: tl.constexpr):\n"
      "    o = tl.arange(0, N)\n    a = tl.load(x + o[:, None] * N + o[None, :])\n    for i in range(1, N):\n"
      "        mask = o == i\n        row = tl.sum(tl.where(mask[:, None], a, 0), 0)\n"
      "        row = row + tl.sum(row[:, None] * a, 0) * (o < i)\n        a = tl.where(mask[:, None], row, a)\n"
      "    tl.store(y + o[:, None] * N + o[None, :], a)\n";
  CHECK(to_string(make_persistent_detector()->inspect(source, Target::Triton).verdict) == "persistent");
}

TEST_CASE("functions of packed numbers are named like others", "[detect][forms]") {
  const auto body = [](const std::string& factor) {
    return kernel(
        "float2 h[4]; for (int t = 0; t < T; ++t) { float2 a = x2[t]; for (int i = 0; i < 4; ++i) fma_f32x2(h[i], " +
        factor + ", x2[i]); }\ny[0] = h[0].x;");
  };
  CHECK(cuda_verdict(body("a, h[i]")) == "persistent");
  CHECK(cuda_verdict(body("a, x2[t + i]")) == "not-recurrent");
}

TEST_CASE("a sum that what is left of one weights decays", "[detect][forms]") {
  const auto body = [](const std::string& update, const std::string& before = "") {
    return kernel("float sum = 0.f; for (int t = 0; t < T; ++t) { " + before + " " + update + " }\ny[0] = sum;");
  };
  CHECK(cuda_verdict(body("sum = sum + x[t] * (1.0f - sum);")) == "persistent");
  CHECK(cuda_verdict(body("sum += x[t] * (1 - sum);")) == "persistent");
  CHECK(cuda_verdict(body("sum = fmaf(x[t], 1.f - sum, sum);")) == "persistent");
  CHECK(cuda_verdict(body("sum += x[t] * (1.0f - x[t + n]);")) == "not-recurrent");
  CHECK(cuda_verdict(body("sum = sum + c * (1.0f - sum);", "float c = tex3D<float>(texture, x[0], x[1], t);")) ==
        "persistent");
}

TEST_CASE("the digits of a number are no state", "[detect][forms]") {
  const auto body = [](const std::string& update) {
    return kernel("float id = x[0], at = 0.f; for (int d = 0; d < T; ++d) { at += id * x[d + n]; " + update +
                  " }\ny[0] = at;");
  };
  CHECK(cuda_verdict(body("id /= x[d];")) == "not-recurrent");
  CHECK(cuda_verdict(body("id = id / x[d];")) == "not-recurrent");
  CHECK(cuda_verdict(body("id *= x[d];")) == "persistent");  // the light that is left
}

TEST_CASE("a state that is stored every n-th iteration is more than layers", "[detect][forms]") {
  const auto source = [](const std::string& store) {
    return "import triton\nimport triton.language as tl\n@triton.jit\n"
           "def k(q, w, y, T, S: tl.constexpr, N: tl.constexpr):\n"
           "    o = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]\n    h = tl.load(q + o)\n"
           "    for t in range(T):\n        h -= tl.dot(h, tl.load(w + t * N * N + o))\n" +
           store + "    tl.store(y + o, h)\n";
  };
  const auto verdict = [](const std::string& text) {
    return to_string(make_persistent_detector()->inspect(text, Target::Triton).verdict);
  };
  CHECK(verdict(source("")) == "not-recurrent");
  CHECK(verdict(source("        if t % S == 0:\n            tl.store(y + t * N * N + o, h)\n")) == "persistent");
  CHECK(verdict(source("        if t == T - 1:\n            tl.store(y + t * N * N + o, h)\n")) == "not-recurrent");
}

TEST_CASE("a block may declare a name again", "[detect][forms]") {
  // The sum of the inner block is not the value that goes through the function.
  const auto inner = [](const std::string& type) {
    return kernel("float sum = 0.f; for (int t = 0; t < T; ++t) { sum += x[t]; { " + type +
                  "sum = x[t]; sum = tanhf(sum); y[t * n] = sum; } }\ny[0] = sum;");
  };
  CHECK(cuda_verdict(inner("float ")) == "not-recurrent");
  CHECK(cuda_verdict(inner("const int a = 1; float b = 0.f, ")) == "not-recurrent");
  CHECK(cuda_verdict(inner("")) == "not-recurrent");  // it begins anew in every iteration
  const auto carried = [](const std::string& type) {
    return kernel("float h = 0.f; for (int t = 0; t < T; ++t) { " + type + "h = tanhf(h + x[t]); y[t] = h; }");
  };
  CHECK(cuda_verdict(carried("")) == "persistent");
  CHECK(cuda_verdict(carried("{ float h = x[t]; y[n + t] = h; } ")) == "persistent");
  const auto report = make_persistent_detector()->inspect(
      kernel("float h = x[0]; { float h = 0.f; for (int t = 0; t < T; ++t) { h = tanhf(h + x[t]); y[t] = h; } }"),
      Target::Cuda);
  CHECK(to_string(report.verdict) == "persistent");
  CHECK(report.reason.find("the state 'h'") != std::string::npos);
}

TEST_CASE("variables of a lambda are its own", "[detect][forms]") {
  CHECK(cuda_verdict(
            kernel("int at[64]; auto place = [&](int i) { int row = i / n; return n * row + (i % n) ^ row; };\n"
                   "for (int i = 0; i < T; i++) at[i] = place(n * i + 1);\ny[at[0]] = 1.f;")) == "not-recurrent");
  CHECK(cuda_verdict(kernel("float h = 0.f; auto step = [&](float v) { float u = h + v; h = tanhf(u); };\n"
                            "for (int t = 0; t < T; t++) step(x[t]);\ny[0] = h;")) == "persistent");
}

TEST_CASE("a launch may have spaces in its brackets", "[detect][forms]") {
  const auto with = [](const std::string& opens, const std::string& closes) {
    // Where launches are seen, only kernels that are launched count.
    return cuda_verdict(kernel(k_recurrence) +
                        "__global__ void warm_up() {}\nvoid run(float* x) { warm_up<<<1, 1>>>(); k" + opens +
                        "dim3(4), 32" + closes + "(x, x, 9, 1); }");
  };
  CHECK(with("<<<", ">>>") == "persistent");
  CHECK(with(" << <", ">> >") == "persistent");
  CHECK(with(" < < <", "> > >") == "not-recurrent");  // no launch
  CHECK(with("<< < ", " > >>") == "persistent");
}

TEST_CASE("a sum in a logarithm is a state where something is added to it", "[detect][forms]") {
  const std::string helper =
      "__device__ float log_add(float a, float b) { float d = a - b; if (d > 0) return a + log1pf(expf(-d)); "
      "return b + log1pf(expf(d)); }";
  // The alphas of a transducer, passed on from lane to lane.
  CHECK(cuda_verdict(
            kernel("float bias = x[0], emit = x[n], r = emit; for (int i = 1; i < 32; ++i) { "
                   "r = __shfl_up_sync(~0u, r, 1); if (i == threadIdx.x) r = log_add(r + bias, emit); } y[0] = r;",
                   helper)) == "persistent");
  CHECK(cuda_verdict(kernel("float r = 0.f; for (int i = 1; i < T; ++i) r = logf(expf(r + x[i]) + expf(x[i - 1])); "
                            "y[0] = r;")) == "persistent");
  // A sum of exponentials, in four forms, and a product.
  CHECK(cuda_verdict(kernel("float s = x[0]; for (int i = 1; i < T; ++i) s = logf(expf(s) + expf(x[i])); y[0] = s;")) ==
        "not-recurrent");
  CHECK(cuda_verdict(kernel("float s = x[0]; for (int i = 1; i < T; ++i) s = expf(logf(s) + logf(x[i])); y[0] = s;")) ==
        "not-recurrent");
  CHECK(cuda_verdict(kernel("float s = x[0]; for (int i = 1; i < T; ++i) s = log_add(s, x[i]); y[0] = s;", helper)) ==
        "not-recurrent");
  CHECK(cuda_verdict(kernel("float s = x[0]; for (int i = 1; i < T; ++i) s = log_add(s, x[i] - n); y[0] = s;",
                            helper)) == "not-recurrent");
  CHECK(cuda_verdict(kernel("float s = x[0]; for (int i = 1; i < T; ++i) { const float m = fmaxf(s, x[i]); "
                            "s = m + logf(expf(s - m) + expf(x[i] - m)); } y[0] = s;")) == "not-recurrent");
}

TEST_CASE("a condition about an element keeps that element", "[detect][forms]") {
  // A running maximum in an array, and a sum that is rescaled by it.
  const auto with = [](const std::string& maximum) {
    return cuda_verdict(
        kernel("float top[1], sum[1]; top[0] = x[0]; sum[0] = 0.f; for (int t = 0; t < T; ++t) { "
               "float v = x[t], old = top[0]; if (" +
               maximum +
               ") { "
               "sum[0] = sum[0] * expf(old - v) + 1.f; top[0] = v; } else { sum[0] += expf(v - old); } } "
               "y[0] = sum[0];"));
  };
  CHECK(with("v > old") == "not-recurrent");
  CHECK(with("v > top[0]") == "not-recurrent");
  // The guard of a partial tile asks nothing of what it fills: each step sets it anew.
  CHECK(cuda_verdict(
            kernel("__shared__ float tile[256]; for (int t = 0; t < T; ++t) { int i = t * 256 + threadIdx.x; "
                   "if (i < n) tile[threadIdx.x] = x[i]; __syncthreads(); y[i] = tanhf(tile[255 - threadIdx.x]); "
                   "__syncthreads(); }")) == "not-recurrent");
}

TEST_CASE("an atomic addition of zero reads", "[detect][forms]") {
  // Looks back to the block that has finished.
  const auto with = [](const std::string& zero) {
    return cuda_verdict(
        "__global__ void k(int* flag, int n) { int prev = blockIdx.x; while (true) { int f; do { f = "
        "atomicAdd(&flag[prev], " +
        zero + "); } while (f == 0); if (f == 2) { atomicExch(&flag[n], 2); break; } prev -= 1; } }");
  };
  CHECK(with("0") == "not-recurrent");
  CHECK(with("0u") == "not-recurrent");
  CHECK(with("1") == "persistent");
}
