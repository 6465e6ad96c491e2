#include <utility>

#include <kernelgen/llm/clients.hpp>
#include <kernelgen/llm/providers.hpp>

#include "adapters.hpp"
#include "convert.hpp"
#include "module.hpp"
#include "search.hpp"

namespace kernelgen_python {

using namespace kernelgen;

namespace {

/// The providers that the library knows, with those of a file; without a name, the library's alone.
std::vector<Provider> providers_of(const std::string& file) {
  return file.empty() ? known_providers() : value_of(load_providers(file));
}

nb::dict dict_of_provider(const Provider& provider) {
  nb::dict to;
  to["name"] = provider.name;
  to["protocol"] = std::string(to_string(provider.protocol));
  to["base_url"] = provider.base_url;
  to["base_url_variable"] = provider.base_url_variable;
  to["key_variable"] = provider.key_variable;
  to["needs_key"] = provider.needs_key;
  nb::list models;
  for (const auto& model : provider.models) {
    nb::dict facts;
    facts["name"] = model.name;
    facts["prices"] = dict_of(model.prices);
    facts["context_tokens"] = nb::cast(model.context_tokens);
    facts["max_output_tokens"] = nb::cast(model.max_output_tokens);
    facts["source"] = model.source;
    models.append(facts);
  }
  to["models"] = models;
  return to;
}

nb::list list_providers(const Text& file) {
  nb::list found;
  for (const auto& provider : providers_of(file.get())) found.append(dict_of_provider(provider));
  return found;
}

nb::dict terms_of(NativeModel& model, const Text& kind) {
  const auto terms =
      model.client()->terms(named("kind", kind.get(), parse_prompt_kind, kernelgen_python::k_prompt_kinds));
  nb::dict to;
  to["prices"] = dict_of(terms.prices);
  to["max_output_tokens"] = nb::cast(terms.max_output_tokens);
  return to;
}

/// A client, and what starts the programs that answer it.
struct OpenedModel {
  std::unique_ptr<ProcessRunner> runner;
  std::unique_ptr<LLMClient> client;
};

std::unique_ptr<NativeModel> open_model(const Text& spec, const Text& providers) {
  return std::make_unique<NativeModel>([spec = spec.get(), known = providers_of(providers.get()),
                                        environment = current_environment()]() -> Result<std::shared_ptr<LLMClient>> {
    auto opened = std::make_shared<OpenedModel>(OpenedModel{make_process_runner(), nullptr});
    auto client = make_llm_client(spec, {.environment = environment, .runner = *opened->runner, .providers = &known});
    if (!client) return std::move(client).error();
    opened->client = *std::move(client);
    auto* const borrowed = opened->client.get();
    return std::shared_ptr<LLMClient>(std::move(opened), borrowed);
  });
}

class Completing final : public Work {
 public:
  Completing(CallState& state, const nb::object& model, LLMRequest request)
      : model_(state, model), request_(std::move(request)) {}

  Result<void> run(CallState& state) override {
    auto reply = model_.get().complete(request_, state.stop_token());
    if (!reply) return std::move(reply).error();
    reply_ = *std::move(reply);
    return {};
  }
  nb::object result() override {
    nb::dict to;
    to["text"] = reply_.text;
    to["finish"] = std::string(to_string(reply_.finish));
    to["model"] = reply_.model;
    to["input_tokens"] = nb::cast(reply_.usage.input_tokens);
    to["output_tokens"] = nb::cast(reply_.usage.output_tokens);
    to["cached_tokens"] = nb::cast(reply_.usage.cached_tokens);
    to["reasoning_tokens"] = nb::cast(reply_.usage.reasoning_tokens);
    to["cache_write_tokens"] = nb::cast(reply_.usage.cache_write_tokens);
    return to;
  }

 private:
  ModelOfCall model_;
  LLMRequest request_;
  Reply reply_;
};

LLMRequest llm_request_of(const nb::dict& from) {
  LLMRequest request;
  assign(from, "id", request.id);
  assign(from, "prompt", request.prompt);
  if (const auto kind = find<std::string>(from, "kind"))
    request.kind = named("kind", *kind, parse_prompt_kind, k_prompt_kinds);
  assign(from, "temperature", request.temperature);
  assign(from, "effort", request.effort);
  request.max_output_tokens = find<std::int64_t>(from, "max_output_tokens");
  assign_limit(from, "timeout", request.timeout);
  assign(from, "fingerprint", request.fingerprint);
  return request;
}

Call start_complete(const nb::object& model, const nb::dict& request, const nb::object& on_done) {
  auto state = std::make_shared<CallState>();
  auto work = std::make_unique<Completing>(*state, model, llm_request_of(request));
  return {std::move(state), std::move(work), on_done};
}

}  // namespace

void bind_models(nb::module_& module) {
  nb::class_<NativeModel>(module, "NativeModel")
      .def("identity", [](NativeModel& self) { return self.client()->identity(); })
      .def("endpoint", [](NativeModel& self) { return self.client()->endpoint(); })
      .def("terms", &terms_of, nb::arg("kind"));
  module.def("open_model", &open_model, nb::arg("spec"), nb::arg("providers"));
  module.def("providers", &list_providers, nb::arg("file"));
  module.def("start_complete", &start_complete, nb::arg("model"), nb::arg("request"), nb::arg("on_done").none());
}

}  // namespace kernelgen_python
