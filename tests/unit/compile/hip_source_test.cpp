#include "compile/hip_source.hpp"

#include <algorithm>

#include "support/catch.hpp"
#include "support/effort.hpp"

using namespace kernelgen;

namespace {

/// What a launch becomes.
std::string launch(const std::string& kernel, const std::string& configuration, const std::string& arguments) {
  return "kgen_hip::kgen_kernel([&](auto&... kgen_a) { " + kernel + "(kgen_a...); }).kgen_on(" + configuration + ")" +
         arguments;
}

void check_unchanged(const std::string& source) { CHECK(rewrite_hip_for_cpu(source) == source); }

}  // namespace

TEST_CASE("a launch of a hip kernel becomes a call", "[compile][hip]") {
  CHECK(rewrite_hip_for_cpu("k<<<1, 2>>>(x);") == launch("k", "1, 2", "(x);"));
  CHECK(rewrite_hip_for_cpu("if (a) k <<< g, b, 0, s >>> (x, y);") ==
        "if (a) " + launch("k ", " g, b, 0, s ", " (x, y);"));
  CHECK(rewrite_hip_for_cpu("ns::inner::k<<<g, b>>>();") == launch("ns::inner::k", "g, b", "();"));
  CHECK(rewrite_hip_for_cpu("(*pointer)<<<g, b>>>();") == launch("(*pointer)", "g, b", "();"));
  CHECK(rewrite_hip_for_cpu("choose(n)<<<g, b>>>();") == launch("choose(n)", "g, b", "();"));
}

TEST_CASE("template arguments of a launched kernel may be nested", "[compile][hip]") {
  CHECK(rewrite_hip_for_cpu("k<f<2>><<<g, b>>>(x);") == launch("k<f<2>>", "g, b", "(x);"));
  CHECK(rewrite_hip_for_cpu("k<f<g<2>>><<<1, b>>>(x);") == launch("k<f<g<2>>>", "1, b", "(x);"));
  CHECK(rewrite_hip_for_cpu("ns<int>::k<float, (1 > 0)><<<1, b>>>(x);") ==
        launch("ns<int>::k<float, (1 > 0)>", "1, b", "(x);"));
}

TEST_CASE("a launch configuration may hold templates and shifts", "[compile][hip]") {
  CHECK(rewrite_hip_for_cpu("k<<<1, f<2>>>>(x);") == launch("k", "1, f<2>", "(x);"));
  CHECK(rewrite_hip_for_cpu("k<<<n >> 2, dim3(1 << 3)>>>(x);") == launch("k", "n >> 2, dim3(1 << 3)", "(x);"));
  CHECK(rewrite_hip_for_cpu("k<<<a<b>(c), [&] { return 1; }()>>>(x);") ==
        launch("k", "a<b>(c), [&] { return 1; }()", "(x);"));
}

TEST_CASE("NULL among the arguments of a launch becomes nullptr", "[compile][hip]") {
  CHECK(rewrite_hip_for_cpu("k<<<1, 2>>>(NULL, x); f(NULL);") == launch("k", "1, 2", "(nullptr, x); f(NULL);"));
}

TEST_CASE("a launch in a macro is rewritten in its lines", "[compile][hip]") {
  CHECK(rewrite_hip_for_cpu("#define RUN(k, ...) \\\n  k<<<g, b>>>(__VA_ARGS__)\nRUN(f, 1);") ==
        "#define RUN(k, ...) \\\n  " + launch("k", "g, b", "(__VA_ARGS__)\nRUN(f, 1);"));
}

TEST_CASE("what looks like a launch and is none stays", "[compile][hip]") {
  check_unchanged("// k<<<1, 2>>>(x)\n/* k<<<1, 2>>>(x) */\n");
  check_unchanged("const char* s = \"k<<<1, 2>>>(x)\"; auto r = R\"(k<<<1, 2>>>(x))\";");
  check_unchanged("auto x = a << b; auto y = a >> b; f<g<h<int>>> z;");
  check_unchanged("#include <hip/hip_runtime.h>\n#error k<<<1, 2>>>(x)\n#if 1 <<< 2\n#endif\n");
  check_unchanged("<<<>>>(x); k<<<1, 2; k<<<1, 2>>>;");
  check_unchanged("");
  check_unchanged("k<<<");
  check_unchanged("(((<<<{>>>(");
}

TEST_CASE("dynamic shared memory becomes a pointer", "[compile][hip]") {
  CHECK(rewrite_hip_for_cpu("void k() { extern __shared__ float s[]; }") ==
        "void k() { float * const s = kgen_hip::dynamic_lds<float >(); }");
  const std::string bytes = "void k() { unsigned char * const s = kgen_hip::dynamic_lds<unsigned char >(); }";
  CHECK(rewrite_hip_for_cpu("void k() { extern __shared__ __align__(16) unsigned char s[]; }") == bytes);
  CHECK(rewrite_hip_for_cpu("void k() { extern __shared__ unsigned char __attribute__((aligned(16))) s[]; }") == bytes);
  CHECK(rewrite_hip_for_cpu("extern __shared__ float s[];") == "static kgen_hip::DynamicArray<float > s;");
  CHECK(rewrite_hip_for_cpu("void k() { extern __shared__\n float s[]; }") ==
        "void k() { float * const s = kgen_hip::dynamic_lds<float >();\n }");
}

TEST_CASE("the size of static shared memory is told", "[compile][hip]") {
  CHECK(rewrite_hip_for_cpu("void k() { __shared__ float a[T][T + 1], b[2]; }") ==
        "void k() { __shared__ float a[T][T + 1], b[2]; kgen_hip::note_lds(a, b); }");
  CHECK(rewrite_hip_for_cpu("void k() { __shared__ std::array<int, 4> a; }") ==
        "void k() { __shared__ std::array<int, 4> a; kgen_hip::note_lds(a); }");
  CHECK(rewrite_hip_for_cpu("void k() { __shared__ struct S { int x; } a; }") ==
        "void k() { __shared__ struct S { int x; } a; kgen_hip::note_lds(a); }");
  CHECK(rewrite_hip_for_cpu("void k() { __shared__ alignas(16) char a[64]; }") ==
        "void k() { __shared__ __align__(16) char a[64]; kgen_hip::note_lds(a); }");
  check_unchanged("__shared__ float at_file_scope[4];");
  check_unchanged("#define SHARED(T, n) __shared__ T n[4];\n");
}

TEST_CASE("casts of a kernel that is launched by its address are dropped", "[compile][hip]") {
  CHECK(rewrite_hip_for_cpu("hipLaunchCooperativeKernel((void*)k, g, b, a, 0, s);") ==
        "hipLaunchCooperativeKernel(k, g, b, a, 0, s);");
  CHECK(rewrite_hip_for_cpu("hipLaunchCooperativeKernel(reinterpret_cast<const void*>(&k<2>), g);") ==
        "hipLaunchCooperativeKernel((&k<2>), g);");
  CHECK(rewrite_hip_for_cpu("hipLaunchKernel((const void *)k, g);") == "hipLaunchKernel(k, g);");
  check_unchanged("hipLaunchKernel(k, g); hipLaunchKernel((float*)k, g); hipMalloc((void**)p, 1);");
}

TEST_CASE("what no processor executes becomes an error with its reason", "[compile][hip]") {
  const std::string refused =
      "static_assert(false, \"inline assembly of a device is not executed on the CPU: this kernel needs an AMD GPU\")";
  CHECK(rewrite_hip_for_cpu("asm volatile(\"s_nop 0\" : \"+v\"(r));") == refused + ";");
  CHECK(rewrite_hip_for_cpu("__asm__(\"s_nop 0\"\n\"s_nop 1\");") == refused + "\n;");
  check_unchanged("asm volatile(\"\" ::: \"memory\");");
}

TEST_CASE("a built-in function that the headers lack becomes an error with its name", "[compile][hip]") {
  CHECK(rewrite_hip_for_cpu("a = __builtin_amdgcn_mfma_f32_16x16x4f32(x, y, a, 0, 0, 0);") ==
        "a = [](auto... kgen_a) { static_assert(kgen_hip::k_never<decltype(kgen_a)...>, "
        "\"__builtin_amdgcn_mfma_f32_16x16x4f32 is not executed on the CPU: this kernel needs an AMD GPU\"); return "
        "kgen_hip::Anything(); }(x, y, a, 0, 0, 0);");
  const BuiltinNames known{"__builtin_amdgcn_readlane"};
  const std::string source = "int x = __builtin_amdgcn_readlane(y, 0);";
  CHECK(rewrite_hip_for_cpu(source, known) == source);
  CHECK(rewrite_hip_for_cpu(source) != source);
  check_unchanged("// __builtin_amdgcn_s_setreg(1, 2);\n#if __has_builtin(__builtin_amdgcn_s_setreg)\n#endif\n");
  check_unchanged("auto* f = &__builtin_amdgcn_s_setreg;");
}

TEST_CASE("the built-in functions of AMD's compilers in a text are found", "[compile][hip]") {
  CHECK(
      find_amdgcn_builtins("inline int __builtin_amdgcn_a(int);\n#define __builtin_amdgcn_b8 x\n__builtin_popcount") ==
      BuiltinNames{"__builtin_amdgcn_a", "__builtin_amdgcn_b8"});
  CHECK(find_amdgcn_builtins("__builtin_amdgcn_") == BuiltinNames{"__builtin_amdgcn_"});
  CHECK(find_amdgcn_builtins("").empty());
}

TEST_CASE("names that only clang has are found in a hip source", "[compile][hip]") {
  CHECK(find_clang_extension("typedef float v __attribute__((ext_vector_type(4)));") == "ext_vector_type");
  CHECK(find_clang_extension("#define V(T, n) T __attribute__((__ext_vector_type__(n)))\n") == "__ext_vector_type__");
  CHECK(find_clang_extension("_Float16 x;") == "_Float16");
  CHECK(find_clang_extension("x = __builtin_elementwise_max(a, b);") == "__builtin_elementwise_max");
  CHECK_FALSE(find_clang_extension("// ext_vector_type\nconst char* s = \"_Float16\"; float4 v; int my_Float16;"));
  CHECK_FALSE(find_clang_extension(""));
}

TEST_CASE("vector types of clang get their size", "[compile][hip]") {
  CHECK(rewrite_hip_for_cpu("typedef _Float16 h4 __attribute__((ext_vector_type(4)));") ==
        "typedef _Float16 h4 __attribute__((KGEN_HIP_VECTOR_TYPE((4), _Float16)));");
  CHECK(rewrite_hip_for_cpu("using v = float __attribute__((ext_vector_type(N)));") ==
        "using v = float __attribute__((KGEN_HIP_VECTOR_TYPE((N), float)));");
  CHECK(rewrite_hip_for_cpu("using v = __attribute__((ext_vector_type(4))) unsigned int;") ==
        "using v = __attribute__((KGEN_HIP_VECTOR_TYPE((4), unsigned int))) unsigned int;");
}

TEST_CASE("__noinline__ becomes an attribute, and stays one", "[compile][hip]") {
  CHECK(rewrite_hip_for_cpu("__device__ __noinline__ int f();") == "__device__ __attribute__((noinline)) int f();");
  check_unchanged("__attribute__((__noinline__)) int f();");
}

TEST_CASE("each line of a rewritten source stays where it is", "[compile][hip]") {
  const std::string source =
      "void k() {\n  __shared__ float s[\n4];\n  extern\n__shared__ int d[\n];\n}\nvoid f() {\n  "
      "k<T,\nU><<<1,\n2>>>(\n3);\n"
      "  asm(\"a\\n\"\n\"b\");\n}\n";
  const auto rewritten = rewrite_hip_for_cpu(source);
  CHECK(std::count(rewritten.begin(), rewritten.end(), '\n') == std::count(source.begin(), source.end(), '\n'));
}

TEST_CASE("a hostile source makes no much longer text, and takes no long time", "[compile][hip]") {
  std::string source = "__global__ void f() { ";
  for (int i = 0; i < 5000 / testing::k_less; ++i) source += "__shared__ ";
  source += "int a";
  for (int i = 0; i < 20'000 / testing::k_less; ++i) source += ",a";
  source += "; }\n";
  CHECK(rewrite_hip_for_cpu(source).size() < 4 * source.size());
  std::string launches;
  for (int i = 0; i < 50'000 / testing::k_less; ++i) launches += "a<<<1,";
  CHECK(rewrite_hip_for_cpu(launches).size() < 4 * launches.size());
  std::string builtins;
  for (int i = 0; i < 50'000 / testing::k_less; ++i) builtins += "__builtin_amdgcn_x(";
  CHECK(rewrite_hip_for_cpu(builtins).size() < 2 * builtins.size());
  std::string unended;
  for (int i = 0; i < 50'000 / testing::k_less; ++i) unended += "__shared__ a ";
  CHECK(rewrite_hip_for_cpu("void f() {" + unended).size() < 8 * unended.size());
}
