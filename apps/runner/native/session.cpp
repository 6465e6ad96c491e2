#include "session.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <string_view>
#include <type_traits>
#include <utility>

#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../runner_support.h"
#include "allocation_watch.h"

namespace kgen_runner {
namespace {

constexpr std::size_t k_max_job_bytes = std::size_t{16} << 20;
/// Neither 0 nor 0xFF: glibc fills fresh memory with the complement, which would be zeros for 0xFF.
constexpr int k_allocation_poison = 0x5A;
/// NaN in every float format, -1 in every integer format.
constexpr int k_workspace_poison = 0xFF;

void refuse(kgen_reply& reply, std::uint32_t status, std::string_view text) {
  reply.status = status;
  set_text(reply, text);
}

/// Calls the candidate between two readings of the clock, and turns exceptions into a status.
template <typename Call>
void call_candidate(kgen_reply& reply, Call&& call) {
  kgen_failed_allocation = 0;
  reply.start_ns = kgen_now_ns();
  try {
    const int answer = call();
    reply.end_ns = kgen_now_ns();
    reply.detail = static_cast<std::uint32_t>(answer);
    if (answer != 0) reply.status = KGEN_STATUS_FAILED;
  } catch (const std::bad_alloc& error) {
    reply.end_ns = kgen_now_ns();
    refuse(reply, KGEN_STATUS_OUT_OF_MEMORY, error.what());
  } catch (const std::exception& error) {
    reply.end_ns = kgen_now_ns();
    refuse(reply, KGEN_STATUS_EXCEPTION, error.what());
  } catch (...) {
    reply.end_ns = kgen_now_ns();
    refuse(reply, KGEN_STATUS_EXCEPTION, "threw an object that is no std::exception");
  }
  if (reply.status == KGEN_STATUS_FAILED && kgen_failed_allocation != 0) reply.status = KGEN_STATUS_OUT_OF_MEMORY;
}

std::string errno_text(const char* what) { return std::string(what) + ": " + std::strerror(errno); }

std::string read_whole(int fd) {
  std::string text;
  std::array<char, 65536> block;
  off_t at = 0;
  while (text.size() <= k_max_job_bytes) {
    const ssize_t got = pread(fd, block.data(), block.size(), at);
    if (got <= 0) break;
    text.append(block.data(), static_cast<std::size_t>(got));
    at += got;
  }
  return text;
}

/// RLIMIT_AS counts address space, so it is set after the runner's own mappings.
void limit_address_space(std::uint64_t bytes) {
  if (bytes == 0) return;
  unsigned long pages = 0;
  if (FILE* file = std::fopen("/proc/self/statm", "re")) {
    if (std::fscanf(file, "%lu", &pages) != 1) pages = 0;
    std::fclose(file);
  }
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0) return;
  const rlim_t wanted = pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) + bytes;
  limit.rlim_cur = limit.rlim_max = std::min(limit.rlim_max, wanted);
  setrlimit(RLIMIT_AS, &limit);
}

bool hidden_in_prepare(Role role) { return is_in_slot(role); }

/// Works as a kernel does: processors that wait for the end fall asleep meanwhile.
void write_outputs_for(std::int64_t nanoseconds, const kgen_run_args& call) {
  if (nanoseconds <= 0) return;
  const std::int64_t end_ns = kgen_now_ns() + nanoseconds;
  while (kgen_now_ns() < end_ns) {
    for (std::size_t i = 0; i < call.outputs.count; ++i)
      std::memset(call.outputs.items[i]->data, 0, call.outputs.items[i]->nbytes);
  }
}

}  // namespace

Session::Session(SessionOptions options)
    : options_(options), report_(options.device != nullptr ? options.device->report() : &host_report_) {}

Session::~Session() { kgen_unmap_exchange(mapping_); }

std::int32_t Session::device_number() const { return options_.device != nullptr ? KGEN_DEVICE_CUDA : KGEN_DEVICE_CPU; }

kgen_tensor_list Session::Lists::list(Role role) const {
  const auto& items = tensors[static_cast<std::size_t>(role)];
  return {items.size(), items.data()};
}

kgen_reply Session::handle(Command& command) {
  kgen_reply reply = make_reply(command.record.op, command.record.sequence);
  if (command.record.op == KGEN_OP_ECHO) return reply;
  const bool is_rehearsal = command.record.op == KGEN_OP_RUN && command.record.arg[0] == 0 && has_job_ && !loaded_;
  if (is_rehearsal) {
    rehearse(command, reply);
    return reply;
  }
  if (command.record.op != KGEN_OP_JOB && command.record.op != KGEN_OP_LOAD && !loaded_) {
    refuse(reply, KGEN_STATUS_PROTOCOL, "nothing is loaded");
    return reply;
  }
  switch (command.record.op) {
    case KGEN_OP_JOB:
      open_job(command, reply);
      break;
    case KGEN_OP_LOAD:
      load(command, reply);
      break;
    case KGEN_OP_PREPARE:
      prepare(command, reply);
      break;
    case KGEN_OP_RUN:
      run(command, reply);
      break;
    case KGEN_OP_EXAMINE:
      examine(command, reply);
      break;
    case KGEN_OP_DESTROY:
      destroy(command, reply);
      break;
    default:
      refuse(reply, KGEN_STATUS_PROTOCOL, "not an operation of a native runner");
  }
  return reply;
}

void Session::open_job(Command& command, kgen_reply& reply) {
  if (has_job_) return refuse(reply, KGEN_STATUS_PROTOCOL, "there is a job already");
  const bool on_device = options_.device != nullptr;
  if (command.fds.size() != (on_device ? 3U : 2U)) {
    return refuse(reply, KGEN_STATUS_PROTOCOL, "JOB needs job and arena, and on a device its arena");
  }
  JobResult parsed = parse_job(read_whole(command.fds[0].get()));
  if (!parsed.job) return refuse(reply, KGEN_STATUS_PROTOCOL, parsed.error);
  job_ = std::move(*parsed.job);
  if (job_.device.has_value() != on_device) return refuse(reply, KGEN_STATUS_PROTOCOL, "a job for another device");
  if (std::string error = map_tensors(command); !error.empty()) {
    return refuse(reply, KGEN_STATUS_PROTOCOL, error);
  }
  set_up_environment();
  // Found now, because a candidate may define a function of this name.
  if (void* library = on_device ? nullptr : dlopen("libgomp.so.1", RTLD_NOW | RTLD_LOCAL))
    parallel_ = reinterpret_cast<Parallel>(dlsym(library, "GOMP_parallel"));
  has_job_ = true;
  // A candidate must not find the arena's descriptors.
  command.fds.clear();
}

void Session::load(Command& command, kgen_reply& reply) {
  if (loaded_) return refuse(reply, KGEN_STATUS_PROTOCOL, "a candidate is loaded already");
  if (!has_job_ || command.fds.size() != 1) {
    return refuse(reply, KGEN_STATUS_PROTOCOL, "LOAD needs the code, and comes after JOB");
  }
  if (command.record.arg[0] != KGEN_CODE_SHARED_OBJECT) {
    return refuse(reply, KGEN_STATUS_PROTOCOL, "a native runner loads shared objects only");
  }
  // A GPU driver reserves terabytes of addresses.
  if (options_.device == nullptr && options_.emulated == nullptr) limit_address_space(options_.memory_bytes);
  // Sealed before the candidate's first instruction, because its static constructors are as untrusted as the rest.
  kgen_sandbox_seal_processes();
  loaded_ = true;
  const Fd code = std::move(command.fds[0]);

  const std::string path = "/proc/self/fd/" + std::to_string(code.get());
  void* library = nullptr;
  std::string error;
  call_candidate(reply, [&] {
    library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    return 0;
  });
  if (reply.status == KGEN_STATUS_OK && library == nullptr) {
    const char* reason = dlerror();
    std::string text = reason != nullptr ? reason : "dlopen failed";
    if (text.starts_with(path)) text.replace(0, path.size(), "candidate");
    refuse(reply, kgen_failed_allocation != 0 ? KGEN_STATUS_OUT_OF_MEMORY : KGEN_STATUS_IMPORT, text);
  } else if (reply.status == KGEN_STATUS_OK) {
    error = resolve(library);
    if (!error.empty()) refuse(reply, KGEN_STATUS_INTERFACE, error);
  }
  if (reply.status != KGEN_STATUS_OK) entries_ = {};
}

std::string Session::resolve(void* library) {
  std::string error;
  const auto find = [&](auto& entry, const char* name) {
    entry = reinterpret_cast<std::remove_reference_t<decltype(entry)>>(dlsym(library, name));
    if (entry == nullptr) error += (error.empty() ? "missing " : ", ") + std::string(name);
  };
  // A candidate without OpenMP has no threads to wake.
  if (dlsym(library, "GOMP_parallel") != reinterpret_cast<void*>(parallel_)) parallel_ = nullptr;
  find(entries_.abi_version, "kgen_abi_version");
  find(entries_.prepare, "kgen_prepare");
  find(entries_.run, "kgen_run");
  find(entries_.destroy, "kgen_destroy");
  if (!error.empty()) return error + " (exported with C linkage through KGEN_API?)";
  const std::uint32_t version = entries_.abi_version();
  if (version == KGEN_ABI_VERSION) {
    read_report_names(library);
    return {};
  }
  return "kgen_abi_version is " + std::to_string(version) + ", this runner speaks " + std::to_string(KGEN_ABI_VERSION);
}

void Session::read_report_names(void* library) {
  using Names = const char* const* (*)();
  const auto ask = reinterpret_cast<Names>(dlsym(library, "kgen_report_names"));
  const char* const* names = ask != nullptr ? ask() : nullptr;
  while (names != nullptr && *names != nullptr && report_names_.size() < KGEN_MAX_REPORTS) {
    report_names_.emplace_back(*names, strnlen(*names, KGEN_MAX_REPORT_NAME));
    ++names;
  }
}

std::string Session::map_host(int arena_fd, std::vector<std::vector<std::byte*>>& places) {
  struct stat info {};
  if (fstat(arena_fd, &info) != 0) return errno_text("arena");
  if (static_cast<std::uint64_t>(info.st_size) < job_.arena_bytes) return "the arena is smaller than the job says";
  std::vector<kgen_segment> segments;
  for (std::uint64_t slot = 0; slot < job_.slots; ++slot) {
    for (const JobTensor& tensor : job_.tensors) {
      if (slot == 0 || is_in_slot(tensor.role))
        segments.push_back({tensor.segment_offset + slot * job_.slot_bytes, tensor.segment_bytes, nullptr});
    }
  }
  mapping_ = kgen_map_exchange(arena_fd, segments.size(), segments.data());
  if (mapping_ == nullptr) return errno_text("mapping the arena");
  auto segment = segments.begin();
  for (std::uint64_t slot = 0; slot < job_.slots; ++slot) {
    auto& mapped = places.emplace_back();
    for (const JobTensor& tensor : job_.tensors) {
      const bool own = slot == 0 || is_in_slot(tensor.role);
      mapped.push_back(own ? static_cast<std::byte*>((segment++)->address) : places.front()[mapped.size()]);
    }
  }
  return {};
}

std::string Session::map_device(int arena_fd, std::vector<std::vector<std::byte*>>& places) {
  std::byte* arena = options_.device->import_arena(arena_fd, job_.arena_bytes);
  if (arena == nullptr) return options_.device->error();
  for (std::uint64_t slot = 0; slot < job_.slots; ++slot) {
    auto& mapped = places.emplace_back();
    for (const JobTensor& tensor : job_.tensors)
      mapped.push_back(arena + tensor.segment_offset + (is_in_slot(tensor.role) ? slot * job_.slot_bytes : 0));
  }
  return {};
}

void Session::fill_slot(const std::vector<std::byte*>& places) {
  Slot& slot = *slots_.emplace_back(std::make_unique<Slot>());
  slot.tensors.resize(job_.tensors.size());
  for (std::size_t i = 0; i < slot.tensors.size(); ++i) {
    const JobTensor& from = job_.tensors[i];
    kgen_tensor& to = slot.tensors[i];
    to.struct_size = sizeof to;
    to.dtype = from.dtype;
    to.device = device_number();
    to.rank = static_cast<std::int32_t>(from.shape.size());
    to.name = from.name.c_str();
    to.data = places[i] + from.offset;
    to.shape = from.shape.data();
    to.strides = from.strides.data();
    to.nbytes = from.nbytes;
    to.element_count = from.element_count;
    slot.lists.tensors[static_cast<std::size_t>(from.role)].push_back(&to);
    if (slots_.size() == 1 || is_in_slot(from.role))
      kgen_crash_reporter_add(to.data, to.nbytes, (to_string(from.role) + (" '" + from.name + "'")).c_str());
  }
}

std::string Session::map_tensors(const Command& command) {
  std::vector<std::vector<std::byte*>> places;
  std::string error =
      options_.device != nullptr ? map_device(command.fds[2].get(), places) : map_host(command.fds[1].get(), places);
  if (!error.empty()) return error;
  for (const auto& slot : places) fill_slot(slot);
  shape_only_tensors_ = slots_.front()->tensors;
  for (std::size_t i = 0; i < shape_only_tensors_.size(); ++i) {
    const Role role = job_.tensors[i].role;
    if (hidden_in_prepare(role)) shape_only_tensors_[i].data = nullptr;
    shape_only_lists_.tensors[static_cast<std::size_t>(role)].push_back(&shape_only_tensors_[i]);
  }
  for (const JobScalar& from : job_.scalars) {
    scalars_.push_back(
        {sizeof(kgen_scalar), from.kind, from.name.c_str(), from.as_int, from.as_float, from.as_text.c_str()});
  }
  for (std::size_t i = 0; i < scalars_.size(); ++i) {
    scalar_lists_[static_cast<std::size_t>(job_.scalars[i].place)].push_back(&scalars_[i]);
  }
  return {};
}

/// The environment of libgomp and the BLAS libraries, in case the candidate loads them.
void Session::set_up_environment() const {
  const std::string threads = std::to_string(job_.threads);
  for (const char* name : {"OMP_NUM_THREADS", "OMP_THREAD_LIMIT", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"}) {
    setenv(name, threads.c_str(), 1);
  }
  setenv("OMP_DYNAMIC", "false", 1);
  // Threads that wait for work sleep after about 10 us instead of spinning for milliseconds into the judge's turn,
  // where two spinning processes starve each other (measured on two busy cores: 20 ms for a kernel of 2 ms). The short
  // spin keeps barriers inside a busy region as cheap as active waiting: 0.2 us, against 3 us without any spin.
  setenv("OMP_WAIT_POLICY", "passive", 1);
  setenv("GOMP_SPINCOUNT", "2000", 1);
}

template <typename Args>
void Session::fill(Args& args, const Lists& lists) {
  error_text_[0] = '\0';
  args.struct_size = sizeof args;
  args.abi_version = KGEN_ABI_VERSION;
  args.inputs = lists.list(Role::Input);
  args.parameters = lists.list(Role::Parameter);
  args.buffers = lists.list(Role::Buffer);
  args.attributes = lists.list(Role::Attribute);
  args.draws = lists.list(Role::Draw);
  args.outputs = lists.list(Role::Output);
  args.scalars = {scalar_lists_[0].size(), scalar_lists_[0].data()};
  args.init_scalars = {scalar_lists_[1].size(), scalar_lists_[1].data()};
  args.threads = job_.threads;
  args.device = device_number();
  args.stream = nullptr;
  if (options_.device != nullptr) args.stream = options_.device->stream();
  if (options_.emulated != nullptr) args.stream = options_.emulated->stream();
  args.error = {error_text_.data(), error_text_.size()};
}

Session::State* Session::state_of(const Command& command, kgen_reply& reply) {
  const std::uint64_t set = command.record.arg[0];
  if (set < 1 || set > states_.size()) {
    refuse(reply, KGEN_STATUS_PROTOCOL, "there is no such weight set");
    return nullptr;
  }
  if (entries_.run == nullptr) {
    refuse(reply, KGEN_STATUS_PROTOCOL, "the candidate did not load");
    return nullptr;
  }
  return &states_[set - 1];
}

void Session::prepare(const Command& command, kgen_reply& reply) {
  State* state = state_of(command, reply);
  if (state == nullptr) return;
  if (state->prepared) return refuse(reply, KGEN_STATUS_PROTOCOL, "this set is prepared already");
  kgen_prepare_args args{};
  fill(args, shape_only_lists_);
  kgen_prepare_result result{};
  result.struct_size = sizeof result;
  call_and_wait(reply, [&] { return entries_.prepare(&args, &result); });
  if (options_.device != nullptr && !options_.device->finish(reply)) return;
  if (reply.status != KGEN_STATUS_OK) return explain(reply);
  state->workspace_bytes = result.workspace_bytes;
  if (!make_workspace(*state, reply)) return;
  state->prepared = true;
  state->state = result.state;
  reply.arg[0] = result.workspace_bytes;
}

bool Session::make_workspace(State& state, kgen_reply& reply) {
  const std::uint64_t bytes = state.workspace_bytes;
  if (bytes == 0) return true;
  state.workspace = options_.device != nullptr ? options_.device->allocate(bytes) : kgen_map_guarded(bytes);
  if (state.workspace == nullptr) {
    refuse(reply, KGEN_STATUS_WORKSPACE, "a workspace of " + std::to_string(bytes) + " bytes cannot be had");
    return false;
  }
  // Touched here, so that the first call does not pay for page faults.
  poison_workspace(state);
  kgen_crash_reporter_add(state.workspace, bytes, "the workspace");
  return true;
}

void Session::poison_workspace(const State& state) {
  if (state.workspace == nullptr) return;
  if (options_.device != nullptr) {
    options_.device->fill(state.workspace, k_workspace_poison, state.workspace_bytes);
  } else {
    std::memset(state.workspace, k_workspace_poison, state.workspace_bytes);
  }
}

void Session::explain(kgen_reply& reply) const {
  if (reply.text_length != 0) return;
  set_text(reply, {error_text_.data(), strnlen(error_text_.data(), error_text_.size())});
}

void Session::tell_report(kgen_reply& reply) {
  volatile std::uint64_t* const word = report_;
  if (word == nullptr || *word == 0) return;
  const auto code = static_cast<std::uint32_t>(*word >> 32U), block = static_cast<std::uint32_t>(*word);
  *word = 0;
  const bool is_named = code >= 1 && code <= report_names_.size();
  const std::string name = is_named ? "'" + report_names_[code - 1] + "'" : "code " + std::to_string(code);
  const auto microseconds = std::max<std::int64_t>(0, reply.end_ns - reply.start_ns) / 1000;
  const std::string text = "a kernel reported " + name + " in block " + std::to_string(block) + ", " +
                           std::to_string(microseconds) + " us after the call began";
  if (reply.status == KGEN_STATUS_OK) {
    reply.status = KGEN_STATUS_FAILED;
    reply.detail = code;
  }
  set_text(reply, text);
}

void Session::run(const Command& command, kgen_reply& reply) {
  State* state = state_of(command, reply);
  if (state == nullptr) return;
  if (!state->prepared) return refuse(reply, KGEN_STATUS_PROTOCOL, "this set is not prepared");
  const std::uint64_t flags = command.record.arg[2];
  const auto calls = arguments_of(command, *state, reply);
  if (calls.empty()) return;
  const bool poison = (flags & KGEN_RUN_POISON) != 0;
  if (poison) poison_workspace(*state);
  kgen_set_allocation_poison(poison ? k_allocation_poison : 0);
  if (options_.device == nullptr) {
    if ((flags & KGEN_RUN_GRAPH) != 0) return refuse(reply, KGEN_STATUS_NOT_CAPTURABLE, "a processor has no graphs");
    call_on_host(*state, calls, reply);
  } else if ((flags & KGEN_RUN_GRAPH) != 0) {
    replay_on_device(*state, calls, reply);
  } else {
    call_on_device(*state, calls.front(), reply);
  }
  tell_report(reply);
  if (reply.status != KGEN_STATUS_OK) explain(reply);
}

std::vector<kgen_run_args> Session::arguments_of(const Command& command, const State& state, kgen_reply& reply) {
  const std::uint64_t first = command.record.arg[3], count = std::max<std::uint64_t>(command.record.arg[4], 1);
  // A graph keeps the addresses that it was captured with.
  const bool is_graph = (command.record.arg[2] & KGEN_RUN_GRAPH) != 0;
  const bool is_known = options_.device == nullptr || (first == 0 && (count == 1 || is_graph));
  if (first >= slots_.size() || count > slots_.size() || !is_known) {
    refuse(reply, KGEN_STATUS_PROTOCOL, "there are no such slots");
    return {};
  }
  std::vector<kgen_run_args> calls;
  for (std::uint64_t i = 0; i < count; ++i) calls.push_back(arguments_for(*slots_[(first + i) % slots_.size()], state));
  return calls;
}

kgen_run_args Session::arguments_for(const Slot& slot, const State& state) {
  kgen_run_args args{};
  fill(args, slot.lists);
  args.workspace = state.workspace;
  args.workspace_bytes = state.workspace_bytes;
  args.report = report_;
  return args;
}

template <class Call>
void Session::call_and_wait(kgen_reply& reply, Call&& call) {
  call_candidate(reply, std::forward<Call>(call));
  if (options_.emulated != nullptr) options_.emulated->finish(reply);
}

void Session::call_on_host(State& state, const std::vector<kgen_run_args>& calls, kgen_reply& reply) {
  wake_threads();
  call_and_wait(reply, [&] {
    int answer = 0;
    for (auto call = calls.begin(); call != calls.end() && answer == 0; ++call)
      answer = entries_.run(state.state, &*call);
    return answer;
  });
  reply.arg[1] = kgen_thread_count();
}

void Session::wake_threads() const {
  // The reference's threads have just worked when it is called, while these were stopped. Waking a sleeping core takes
  // 100 us and more, which is no property of the kernel.
  if (parallel_ != nullptr) parallel_([](void*) {}, nullptr, 0, 0);
}

void Session::rehearse(const Command& command, kgen_reply& reply) {
  const auto calls = arguments_of(command, State{}, reply);
  if (calls.empty()) return;
  const bool on_device = options_.device != nullptr;
  if (on_device ? !options_.device->begin(reply) : (wake_threads(), false)) return;
  const auto work_ns = on_device ? 0 : static_cast<std::int64_t>(command.record.arg[1]);
  call_candidate(reply, [&] {
    write_outputs_for(work_ns, calls.front());
    return 0;
  });
  if (on_device) options_.device->end(reply);
}

void Session::call_on_device(State& state, const kgen_run_args& args, kgen_reply& reply) {
  if (!options_.device->begin(reply)) return;
  call_candidate(reply, [&] { return entries_.run(state.state, &args); });
  options_.device->end(reply);
}

void Session::replay_on_device(State& state, const std::vector<kgen_run_args>& calls, kgen_reply& reply) {
  const bool is_series = calls.size() > 1;
  void*& graph = state.graphs[calls.size()];
  if (graph == nullptr) {
    graph = options_.device->capture(reply, [&] {
      for (const auto& args : calls) {
        call_candidate(reply, [&] { return entries_.run(state.state, &args); });
        explain(reply);
        if (reply.status != KGEN_STATUS_OK) return false;
      }
      return true;
    });
    if (graph == nullptr) return;
  }
  // The worker's clock bounds a series, so its launch need not be hidden behind flushes.
  if (!(is_series ? options_.device->begin(reply) : options_.device->begin_replay(reply))) return;
  reply.start_ns = kgen_now_ns();
  if (options_.device->replay(graph, reply)) options_.device->end(reply);
}

/// Calls without a score, which show what runs in a call.
void Session::examine(const Command& command, kgen_reply& reply) {
  State* state = state_of(command, reply);
  if (state == nullptr) return;
  if (!state->prepared) return refuse(reply, KGEN_STATUS_PROTOCOL, "this set is not prepared");
  const auto args = arguments_for(*slots_.front(), *state);
  const auto call = [&] { return entries_.run(state->state, &args); };
  if (options_.device != nullptr) {
    options_.device->examine(reply, [&] { call_candidate(reply, call); });
    reply.arg[0] = 1;
    return;
  }
  const auto nanoseconds = static_cast<std::int64_t>(command.record.arg[2]);
  const std::int64_t started = kgen_now_ns();
  do {
    call_and_wait(reply, call);
    reply.arg[0] += 1;
  } while (reply.status == KGEN_STATUS_OK && reply.end_ns - started < nanoseconds);
  reply.start_ns = started;
  if (reply.status != KGEN_STATUS_OK) explain(reply);
}

void Session::destroy(const Command& command, kgen_reply& reply) {
  State* state = state_of(command, reply);
  if (state == nullptr) return;
  if (!state->prepared) return refuse(reply, KGEN_STATUS_PROTOCOL, "this set is not prepared");
  call_and_wait(reply, [&] {
    entries_.destroy(state->state);
    return 0;
  });
  if (options_.device != nullptr) {
    if (!options_.device->finish(reply)) return;
    options_.device->release(state->workspace);
  } else {
    kgen_unmap_guarded(state->workspace, state->workspace_bytes);
  }
  *state = State{};
}

}  // namespace kgen_runner
