// Measures the detector's time for a megabyte of source: of the corpus, and of texts made to be slow. Prints a table;
// asserts nothing. Times are processor time, so that other work on the machine does not count.
//
//   detector CORPUS_DIRECTORY [WORD]      tests/data/detect; WORD: only hostile texts with this word in their name
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <string_view>

#include <kernelgen/detect/persistent_detector.hpp>

namespace {

double milliseconds(const std::string& source, kernelgen::Target target) {
  const auto detector = kernelgen::make_persistent_detector();
  double best = 1e9;
  for (int round = 0; round < 3; ++round) {
    const auto start = std::clock();
    (void)detector->inspect(source, target);
    best = std::min(best, 1000.0 * static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
    if (best > 1000) break;  // known to be too slow
  }
  return best;
}

/// A text that begins with `start`, repeats `part` for a megabyte and ends with `end`. With `second` there are two
/// halves: `part` and `second`, with `end` between them. A # in a part is the number of its repetition.
struct Hostile {
  const char* name;
  kernelgen::Target target;
  const char* start;
  const char* part;
  const char* end = "";
  const char* second = nullptr;
};

constexpr const char* k_cuda = "__global__ void k(float* a,float* b,int n){";
constexpr const char* k_loop = "__global__ void k(float* a,float* b,int n){for(int t=0;t<n;++t){";
constexpr const char* k_host = "__global__ void k(float* a,float* b,int n){a[n]=b[n];}int kgen_run(void* s){";
constexpr const char* k_triton = "@triton.jit\ndef k(a, b, n):\n    for t in range(n):\n";

constexpr Hostile k_hostile[] = {
    {"open parentheses", kernelgen::Target::Cuda, k_cuda, "(", ""},
    {"nested calls", kernelgen::Target::Cuda, k_cuda, "f(", ""},
    {"nested braces", kernelgen::Target::Cuda, k_cuda, "{", ""},
    {"nested loops", kernelgen::Target::Cuda, k_cuda, "for(int i=0;i<n;++i)", ";}"},
    {"one expression", kernelgen::Target::Cuda, k_loop, "+a[t]*b[t]", ";}}"},
    {"one loop body", kernelgen::Target::Cuda, k_loop, "a[t]=f(b[t]+a[t-1]);", "}}"},
    {"many loops", kernelgen::Target::Cuda, k_cuda, "for(int i=0;i<n;++i)a[i]=a[i-1]*b[i];", "}"},
    {"chained assignments", kernelgen::Target::Cuda, k_cuda, "a=", "1;}"},
    {"nested assignments", kernelgen::Target::Cuda, k_cuda, "(a=", "1;}"},
    {"launch loops", kernelgen::Target::Cuda, k_host, "for(int i=0;i<n;++i)k<<<n/128,128>>>(a,b,n);", "}"},
    {"open launches", kernelgen::Target::Cuda, k_host, "k<<<n ", ""},
    {"macros in macros", kernelgen::Target::Cuda, "#define A(x) x x\n", "A(A(A(A(A(A(q))))))\n", ""},
    {"open templates", kernelgen::Target::Cuda, k_cuda, "f<a<b<", ""},
    {"quotes", kernelgen::Target::Cuda, k_cuda, "'", ""},
    {"questions", kernelgen::Target::Cuda, k_loop, "b?", ""},
    {"one loop body", kernelgen::Target::Triton, k_triton, "        h = tl.sigmoid(h + tl.load(a + t))\n", ""},
    {"launch loops", kernelgen::Target::Triton,
     "@triton.jit\ndef k(a, b):\n    tl.store(a, tl.load(b))\ndef f(x, h):\n",
     "    for t in range(x):\n        k[(1,)](h, x)\n        h = x\n", ""},
    {"lambdas", kernelgen::Target::Triton, k_triton, "lambda: ", ""},
    {"functions of one name", kernelgen::Target::Cuda, "", "__device__ void f(){g();}void h(){x=f;f();}"},
    {"kernels and launches", kernelgen::Target::Cuda, "",
     "__global__ void k#(float*a){a[0]=a[1];}void r#(){k#<<<1,1>>>(a);}"},
    {"host functions in a chain", kernelgen::Target::Cuda,
     "__global__ void k(float*a){a[0]=a[1];}void r0(){k<<<1,1>>>(a);}", "void s#(){for(;;){r#();s#();}}"},
    {"lambdas and their calls", kernelgen::Target::Cuda, k_loop, "auto f#=[&](int i){a[i]=b[i];};f#(1);"},
    {"lambdas in one statement", kernelgen::Target::Cuda, k_loop, "x=[&](int i){a[i]=b[i];},"},
    {"one lambda and its calls", kernelgen::Target::Cuda,
     "__global__ void k(float* a,float* b,int n){auto f=[&](int i){a[i]=b[i]*a[i-1];};", "for(;;){f(1);f(2);}", "}"},
    {"arguments by address", kernelgen::Target::Cuda, "__global__ void k(){for(;;)f(", "&a#,"},
    {"parameters and arguments", kernelgen::Target::Cuda, "__device__ void f(", "float* a#,",
     "float* b){*b=*a0;}__global__ void k(){for(;;)f(", "a#,"},
    {"conditions of the preprocessor", kernelgen::Target::Cuda, k_cuda, "\n#if A\n"},
    {"macros, each used", kernelgen::Target::Cuda, k_cuda, "\n#define M#(x) x+x\na=M#(b);"},
    {"members of a parameter", kernelgen::Target::Cuda, "__global__ void k(P p){for(;;){", "p.m#[i]=p.m#[j]*x[i];",
     "}}"},
    {"references", kernelgen::Target::Cuda, k_loop, "float& r#=a[b[i+#]+t];r#=r#*r#;", "}}"},
    {"pointers of pointers", kernelgen::Target::Cuda, k_loop, "float* p#=a+t;p#[t]=p#[t-1];a=p#;", "}}"},
    {"loops in loops", kernelgen::Target::Cuda, k_cuda,
     "for(;;){for(;;){for(;;){for(;;){for(;;){for(;;){for(;;){for(;;){a[i]=a[i-1]*b[i];}}}}}}}}", "}"},
    {"statements twelve loops deep", kernelgen::Target::Cuda,
     "__global__ void k(float* a){for(;;)for(;;)for(;;)for(;;)for(;;)for(;;)for(;;)for(;;)for(;;)for(;;)for(;;){",
     "a[#]=a[i]*b[#];", "}}"},
    {"assembly operands", kernelgen::Target::Cuda, k_loop, "asm(\"ld.x\":\"=f\"(x#):\"l\"(p#),\"f\"(x#));", "}}"},
    {"a function that repeats, called", kernelgen::Target::Cuda, "template<class F>void each(F f){for(;;){f();",
     "x=y(z);", "}}__global__ void k(){}void r(){k<<<1,1>>>();", "each(r);"},
    {"barriers and their callers", kernelgen::Target::Cuda, "",
     "__device__ void w#(int*p){while(*p);}__global__ void k#(int*p){for(;;){w#(p);p[i]=p[j]*p[k];}}"},
    {"recursion", kernelgen::Target::Cuda, "__global__ void k(float*a){f(a);}",
     "__device__ void f#(float*a){a[0]=a[1]*a[2];f#(a);}"},
    {"methods of one name", kernelgen::Target::Triton, "", "class C#:\n  def forward(self):\n    self.f=C#()\n"},
    {"statements in one line", kernelgen::Target::Triton, "", "if a;"},
    {"words in one line", kernelgen::Target::Triton, k_triton, "if a else "},
    {"assignments in one line", kernelgen::Target::Triton, k_triton, "a=", "b", "+b"},
    {"targets of one value", kernelgen::Target::Triton, k_triton, "a,", "=b", "+b"},
    {"variables of one loop", kernelgen::Target::Triton, "@triton.jit\ndef k(a):\n for ", "a,", "in b", "+b"},
    {"texts", kernelgen::Target::Triton, "", "x=\"__global__ void k(){}\"\n"},
    {"texts and plus", kernelgen::Target::Triton, "x=", "\"__global__\"+"},
    {"decorators", kernelgen::Target::Triton, "", "@triton.jit\n"},
    {"aliases", kernelgen::Target::Triton, "def f(): pass\n", "f#=f\n"},
    {"aliases of aliases", kernelgen::Target::Triton, "def f(): pass\n", "g=f,f,f,f,f,f,f,f;f=g\n"},
    {"factories", kernelgen::Target::Triton, "def f(): pass\n", "def m#():\n  return f\nx#=m#()\n"},
    {"imports", kernelgen::Target::Triton, "", "from triton import x# as y#\n"},
    {"launches and lambdas", kernelgen::Target::Triton,
     "@triton.jit\ndef k(a, b):\n    tl.store(a, tl.load(b))\ndef r(x, h):\n",
     "    f#=lambda t: k[(1,)](h,x)\n    for t in x: f#(t)\n"},
    {"kernels in tables", kernelgen::Target::Triton, "",
     "@triton.jit\ndef k#(a, b):\n  tl.store(a, tl.load(b))\nd={1:k#}\nd[1][(1,)](x)\n"},
    {"members set and read", kernelgen::Target::Triton, "class M:\n def forward(self,x):\n  for t in x:\n",
     "   self.m#=self.n#+t\n"},
    {"stores under conditions", kernelgen::Target::Cuda,
     "__global__ void k(float* a,int n){for(int t=0;t<n;++t){h+=a[t];", "if(c==n&&d==n)a[t]=h;"},
    {"grid names", kernelgen::Target::Cuda, "__global__ void k(){}void r(){", "g=1;k<<<g,1>>>();"},
    {"returns", kernelgen::Target::Cpp, "int kgen_run(float*a){for(;;){", "if(x)return a[i]*a[j];"},
    {"names of one function", kernelgen::Target::Cpp, "float f(float x){return x;}int kgen_run(){for(;;){",
     "a#=f(a#);"},
};

void repeat(std::string_view part, std::size_t size, std::string& text) {
  for (int number = 0; text.size() < size; ++number) {
    for (const char c : part) {
      if (c == '#')
        text += std::to_string(number);
      else
        text += c;
    }
  }
}

void hostile_table(std::string_view word) {
  constexpr std::size_t k_size = std::size_t{1} << 20;
  std::printf("\n%-8s %-32s %10s\n", "target", "a megabyte of", "ms");
  for (const auto& each : k_hostile) {
    if (std::string_view(each.name).find(word) == std::string_view::npos) continue;
    std::string source = each.start;
    repeat(each.part, each.second == nullptr ? k_size : k_size / 2, source);
    source += each.end;
    if (each.second != nullptr) repeat(each.second, k_size, source);
    std::printf("%-8s %-32s %10.1f\n", std::string(kernelgen::to_string(each.target)).c_str(), each.name,
                milliseconds(source, each.target));
    (void)std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2 && argc != 3) return 64;
  std::map<kernelgen::Target, std::string> sources;
  for (const auto& entry : std::filesystem::directory_iterator(argv[1])) {
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    if (const auto target = kernelgen::guess_target(entry.path().string(), text)) sources[*target] += text + '\n';
  }
  std::printf("%-12s %10s %10s   goal: 1 MB in 100 ms\n", "target", "KB", "ms");
  for (const auto& [target, text] : sources) {
    if (argc == 3) break;
    for (const std::size_t size : {std::size_t{1} << 18, std::size_t{1} << 20}) {
      std::string source;
      while (source.size() < size) source += text;
      std::printf("%-12s %10zu %10.1f\n", std::string(kernelgen::to_string(target)).c_str(), source.size() >> 10,
                  milliseconds(source, target));
    }
  }
  hostile_table(argc == 3 ? argv[2] : "");
  return 0;
}
