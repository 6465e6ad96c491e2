#include <optional>
#include <utility>
#include <variant>

#include <kernelgen/compile/local_compiler.hpp>
#include <kernelgen/core/target.hpp>

#include "adapters.hpp"
#include "convert.hpp"
#include "device.hpp"
#include "module.hpp"

namespace kernelgen_python {

using namespace kernelgen;

namespace {

nb::dict dict_of_compile_request(const CompileRequest& request) {
  nb::dict to;
  to["candidate"] = dict_of(request.candidate);
  to["extra_flags"] = nb::cast(request.extra_flags);
  to["timeout"] = static_cast<double>(request.timeout.count()) / 1000;
  return to;
}

CompileRequest compile_request_of(const nb::dict& from) {
  CompileRequest request;
  request.candidate = candidate_of(require<nb::dict>(from, "candidate"));
  assign(from, "extra_flags", request.extra_flags);
  assign_limit(from, "timeout", request.timeout);
  return request;
}

/// Outcome and report travel as the JSON of a record that has nothing else.
nb::dict dict_of_compile_outcome(const CompileOutcome& outcome) {
  EvaluationRecord record;
  nb::dict to;
  to["path"] = nb::none();
  to["key"] = "";
  if (const auto* failed = std::get_if<CompileFailed>(&outcome)) {
    record.outcome = failed->outcome;
    record.compile = failed->report;
  } else {
    const auto& compiled = std::get<Compiled>(outcome);
    record.compile = compiled.report;
    to["path"] = compiled.artifact.path;
    to["key"] = compiled.artifact.key;
  }
  to["record"] = to_json(record);
  return to;
}

Result<CompileOutcome> compile_outcome_of(const nb::dict& from, const Candidate& candidate) {
  auto record = parse_record(require<std::string>(from, "record"));
  if (!record) return std::move(record).context("reading the report of a compiler in Python").error();
  auto report = record->compile.value_or(CompileReport{});
  const auto path = find<std::string>(from, "path");
  if (!path) return CompileOutcome(CompileFailed{std::move(record->outcome), std::move(report)});
  return CompileOutcome(Compiled{{candidate.id, candidate.target, *path, find<std::string>(from, "key").value_or("")},
                                 std::move(report)});
}

/// Calls a compiler on a thread of the library. What it raises goes to the call for which the thread works.
template <class T, class Function>
Result<T> ask_compiler(Function&& function) {
  if (auto* const state = CallOfThread::current()) return ask_python<T>(*state, function);
  const nb::gil_scoped_acquire gil;
  try {
    return function();
  } catch (nb::python_error& error) {
    if (auto found = error_of(error)) return *std::move(found);
    return Error{ErrorCode::Internal, std::string("a compiler in Python raised ") + error.what()};
  } catch (const std::exception& error) {
    return Error{ErrorCode::Internal,
                 std::string("a compiler in Python returned a value of a wrong type: ") + error.what()};
  }
}

class PythonCompiler;

/// An error of supports() or key() on this thread. The library would not learn of it, so the compile() that follows
/// returns it.
struct EarlierFailure {
  const PythonCompiler* compiler = nullptr;
  std::optional<Error> error;
};
thread_local EarlierFailure earlier_failure;

class PythonCompiler final : public KernelCompiler {
 public:
  explicit PythonCompiler(nb::object object) : object_(std::move(object)) {}

  /// True where the compiler raised an exception, so that it is asked to compile.
  [[nodiscard]] bool supports(Target target) const override {
    earlier_failure = {};
    auto answer = ask_compiler<bool>([&]() -> Result<bool> {
      return nb::cast<bool>(bridge("supports")(object_.get(), std::string(to_string(target))));
    });
    if (answer) return *answer;
    earlier_failure = {this, std::move(answer).error()};
    return true;
  }

  Result<CompileKey> key(const CompileRequest& request, std::stop_token stop) override {
    if (has_failed()) return *earlier_failure.error;
    auto key = ask_compiler<CompileKey>([&]() -> Result<CompileKey> {
      const auto answer = nb::cast<std::pair<Text, Text>>(
          bridge("compiler_key")(object_.get(), dict_of_compile_request(request), token(stop)));
      return CompileKey{answer.first.get(), answer.second.get()};
    });
    if (!key) earlier_failure = {this, key.error()};
    return key;
  }

  Result<CompileOutcome> compile(const CompileRequest& request, std::stop_token stop) override {
    if (has_failed()) return *std::exchange(earlier_failure, {}).error;
    return ask_compiler<CompileOutcome>([&]() -> Result<CompileOutcome> {
      const auto answer = bridge("compile_candidate")(object_.get(), dict_of_compile_request(request), token(stop));
      return compile_outcome_of(nb::cast<nb::dict>(answer), request.candidate);
    });
  }

 private:
  static nb::object token(const std::stop_token& stop) { return nb::cast(StopToken(stop)); }
  [[nodiscard]] bool has_failed() const { return earlier_failure.compiler == this; }

  Held object_;
};

class Compiling final : public Work {
 public:
  Compiling(NativeCompiler compiler, CompileRequest request)
      : compiler_(std::move(compiler)), request_(std::move(request)) {}

  Result<void> run(CallState& state) override {
    auto outcome = compiler_.compiler->compile(request_, state.stop_token());
    if (!outcome) return std::move(outcome).error();
    outcome_ = *std::move(outcome);
    return {};
  }
  nb::object result() override { return dict_of_compile_outcome(outcome_); }

 private:
  NativeCompiler compiler_;
  CompileRequest request_;
  CompileOutcome outcome_;
};

class FindingKey final : public Work {
 public:
  FindingKey(NativeCompiler compiler, CompileRequest request)
      : compiler_(std::move(compiler)), request_(std::move(request)) {}

  Result<void> run(CallState& state) override {
    auto key = compiler_.compiler->key(request_, state.stop_token());
    if (!key) return std::move(key).error();
    text_ = std::move(key->text);
    return {};
  }
  nb::object result() override { return nb::str(text_.data(), text_.size()); }

 private:
  NativeCompiler compiler_;
  CompileRequest request_;
  std::string text_;
};

/// Asks the driver for a device, and opens a compiler for it.
class OpeningCompiler final : public Work {
 public:
  OpeningCompiler(Installation installation, std::string cache_dir, std::string compiler, Target target,
                  std::string device)
      : target_(target), device_(std::move(device)) {
    options_.installation = std::move(installation);
    options_.cache_dir = std::move(cache_dir);
    options_.compiler = std::move(compiler);
  }

  Result<void> run(CallState& state) override {
    opened_.runner = make_process_runner();
    auto gpu = choose_device(device_, target_, options_.installation, *opened_.runner, state.stop_token());
    if (!gpu) return std::move(gpu).error();
    options_.gpu = *std::move(gpu);
    auto made = open_compiler(options_, *opened_.runner);
    if (!made) return std::move(made).error();
    opened_.compiler = *std::move(made);
    return {};
  }
  nb::object result() override { return nb::cast(opened_); }

 private:
  LocalCompilerOptions options_;
  Target target_;
  std::string device_;
  NativeCompiler opened_;
};

Call start_compile(const NativeCompiler& compiler, const nb::dict& request, const nb::object& on_done) {
  auto work = std::make_unique<Compiling>(compiler, compile_request_of(request));
  return {std::make_shared<CallState>(), std::move(work), on_done};
}

Call start_key(const NativeCompiler& compiler, const nb::dict& request, const nb::object& on_done) {
  auto work = std::make_unique<FindingKey>(compiler, compile_request_of(request));
  return {std::make_shared<CallState>(), std::move(work), on_done};
}

Call start_open_compiler(const nb::dict& from, const nb::object& on_done) {
  auto work = std::make_unique<OpeningCompiler>(
      value_of(installation_of(require<std::string>(from, "prefix"))), require<std::string>(from, "cache_dir"),
      require<std::string>(from, "compiler"), target_of(require<std::string>(from, "target")),
      require<std::string>(from, "device"));
  return {std::make_shared<CallState>(), std::move(work), on_done};
}

constexpr std::string_view k_artifacts = "shared_object or python_module";
constexpr std::string_view k_devices = "cpu, gpu or any";

/// The value of an enum that has names, but no function that reads them.
template <class Enum>
auto parse_one_of(std::initializer_list<Enum> values) {
  return [values = std::vector<Enum>(values)](std::string_view name) -> std::optional<Enum> {
    for (const auto value : values)
      if (to_string(value) == name) return value;
    return {};
  };
}

std::string register_target_from(const nb::dict& from) {
  TargetTraits traits;
  traits.name = require<std::string>(from, "name");
  traits.artifact = named("artifact", require<std::string>(from, "artifact"),
                          parse_one_of({ArtifactKind::SharedObject, ArtifactKind::PythonModule}), k_artifacts);
  traits.device = named("device", require<std::string>(from, "device"),
                        parse_one_of({TargetDevice::Cpu, TargetDevice::Gpu, TargetDevice::Any}), k_devices);
  assign(from, "gpu_vendor", traits.gpu_vendor);
  assign(from, "file_extension", traits.file_extension);
  assign(from, "language", traits.language);
  assign(from, "fence_tag", traits.fence_tag);
  assign(from, "entry_point", traits.entry_point);
  assign(from, "prompt_text", traits.prompt_text);
  return std::string(to_string(value_of(register_target(std::move(traits)))));
}

}  // namespace

std::shared_ptr<KernelCompiler> compiler_of(const nb::object& compiler) {
  if (!nb::isinstance<NativeCompiler>(compiler)) return std::make_shared<PythonCompiler>(compiler);
  auto owner = std::make_shared<NativeCompiler>(nb::cast<const NativeCompiler&>(compiler));
  auto* const borrowed = owner->compiler.get();
  return {std::move(owner), borrowed};
}

void bind_compilers(nb::module_& module) {
  nb::class_<NativeCompiler>(module, "NativeCompiler")
      .def("supports", [](const NativeCompiler& self, const Text& target) {
        return self.compiler->supports(target_of(target.get()));
      });
  module.def("register_target", &register_target_from, nb::arg("traits"));
  module.def("start_open_compiler", &start_open_compiler, nb::arg("options"), nb::arg("on_done").none());
  module.def("start_compile", &start_compile, nb::arg("compiler"), nb::arg("request"), nb::arg("on_done").none());
  module.def("start_key", &start_key, nb::arg("compiler"), nb::arg("request"), nb::arg("on_done").none());
}

}  // namespace kernelgen_python
