#include "bench/judge_pool.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <filesystem>
#include <iterator>
#include <limits>
#include <list>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "bench/baselines.hpp"
#include "bench/judge_queue.hpp"
#include "device/cgroups.hpp"
#include "exec/zygote.hpp"
#include "judge/judge_process.hpp"
#include "support/files.hpp"
#include "support/sha256.hpp"
#include "support/try.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

/// Part of every admission's key; raise it if the meaning of an admission changes.
constexpr int k_admission_format = 1;
/// Part of the key of every time of a compiled reference.
constexpr int k_baseline_format = 1;

/// The share of the free memory that one task may take.
constexpr double k_memory_share = 0.8;

/// Maximal number of tasks with remembered admissions, at some kilobytes each.
constexpr std::size_t k_most_known = 1000;

/// While a judge starts, idle ones may hold at most one part in this many of the device's memory.
constexpr std::uint64_t k_idle_part = 8;

/// Device memory of an idle judge besides what it keeps for its task: its contexts, and those of its probe.
constexpr std::uint64_t k_idle_judge_bytes = std::uint64_t{5} << 29;

/// A judge with its task. Each member may depend on those before it.
struct WarmJudge {
  std::string key;
  /// UUID; empty: the processor.
  std::string device;
  bool busy = true;
  std::unique_ptr<SharedMemorySource::Block> exchange;
  std::unique_ptr<Judge> judge;
  AdmittedTask task;
  std::optional<DeviceArena> device_arena;
  /// Bytes of its device that it keeps while it is idle; known once it is started.
  std::uint64_t kept_bytes = 0;
  ReferenceTimes reference_times;
};

class ProcessJudgePool final : public JudgePool {
 public:
  ProcessJudgePool(JudgePoolOptions options, SharedMemorySource& memory, std::string harness)
      : options_(std::move(options)),
        memory_(memory),
        harness_(std::move(harness)),
        baselines_(below_cache("baselines")) {}

  Result<void> start_zygote() {
    KERNELGEN_TRY(zygote_, Zygote::start({.python = options_.python,
                                          .python_dir = options_.installation.python_dir.string(),
                                          .module = "kernelgen_judge",
                                          .environment = options_.environment}));
    return {};
  }

  Result<EnvironmentReport> environment(std::stop_token stop) override {
    KERNELGEN_TRY(auto facts, zygote_->wait_ready(k_import_timeout, stop));
    EnvironmentReport report;
    report.python = facts.python;
    report.torch = facts.torch;
    report.triton = facts.triton;
    return report;
  }

  Result<bool> evict_idle_judges(const std::string& device, std::stop_token stop) override {
    const auto is_meant = [&](const WarmJudge& judge) { return device.empty() || judge.device == device; };
    Judges ended;
    std::unique_lock lock(mutex_);
    while (std::any_of(judges_.begin(), judges_.end(), [&](const auto& judge) { return is_meant(*judge); })) {
      ended = take_out(is_meant);
      if (!ended.empty()) return true;
      const auto version = version_;
      if (!changed_.wait(lock, stop, [&] { return version_ != version; }))
        return Error{ErrorCode::Cancelled, "cancelled while waiting for memory"};
    }
    return false;
  }

  PlacedJudge open(std::vector<JudgePlace>& places, const std::function<void(std::size_t)>& on_move,
                   std::stop_token stop) override {
    auto request = wait_for(places);
    std::unique_lock lock(mutex_);
    const auto me = waiting_.insert(waiting_.end(), std::move(request));
    std::optional<std::size_t> chosen;
    changed_.wait(lock, stop, [&] { return (chosen = find_place(*me)).has_value(); });
    if (chosen == 0U) note_overtaking(me);
    waiting_.erase(me);
    changed_.notify_all();
    if (!chosen) return {Error{ErrorCode::Cancelled, "cancelled while waiting for the judge"}};
    if (*chosen > 0) on_move(*chosen);
    return {take(std::move(lock), places[*chosen], std::move(stop)), *chosen};
  }

  Result<std::unique_ptr<JudgeSession>> try_open(const JudgePlace& place, std::stop_token stop) override {
    std::unique_lock lock(mutex_);
    if (!is_free(device_of(place.task))) return std::unique_ptr<JudgeSession>();
    return take(std::move(lock), place, std::move(stop));
  }

  PlacedAdmission admit(std::vector<JudgePlace>& places, const std::function<void(std::size_t)>& on_move,
                        std::stop_token stop) override {
    const auto& task = places.front().task;
    // What one judge finds reaches the next one through the cache.
    const auto most = task.device && !options_.cache_dir.empty() ? most_admissions(*task.device) : 1;
    if (most == 1) return {std::optional<AdmittedTask>()};
    auto request = wait_for(places);
    request.admits = admission_key(task);
    std::unique_lock lock(mutex_);
    const auto me = waiting_.insert(waiting_.end(), std::move(request));
    const auto& key = me->admits;
    std::optional<AdmittedTask> found;
    std::optional<std::size_t> chosen;
    const auto is_over = [&] {
      return (found = find_known(task)) || alone_.contains(key) || (chosen = find_place_to_admit(*me));
    };
    const bool is_stopped = !changed_.wait(lock, stop, is_over);
    const bool begins = !is_stopped && !found && chosen && has_company(*me, *chosen);
    if (begins && *chosen == 0) note_overtaking(me);
    const auto mine =
        begins ? admitting_.insert(admitting_.end(), {me->places[*chosen].name(), key}) : admitting_.end();
    waiting_.erase(me);
    changed_.notify_all();
    if (is_stopped) return {Error{ErrorCode::Cancelled, "cancelled while waiting for the judge"}};
    if (!begins) return {found};
    auto& place = places[*chosen];
    auto ended = trim(mine->device, place.task.device);
    lock.unlock();
    ended.clear();
    if (*chosen > 0) on_move(*chosen);
    if (place.on_start) place.on_start();
    auto admitted = admit_beside_others(place.task, *place.gate, most, stop);
    lock.lock();
    if (!admitted && !stop.stop_requested()) {
      // Whatever the reason is, it may be that others were beside it.
      if (alone_.size() >= k_most_known) alone_.clear();
      alone_.insert(mine->key);
    }
    admitting_.erase(mine);
    changed_.notify_all();
    if (stop.stop_requested()) return {Error{ErrorCode::Cancelled, "cancelled while the task was admitted"}, *chosen};
    if (!admitted) return {std::optional<AdmittedTask>(), *chosen};
    remember(*admitted, place.task);
    return {std::optional(*std::move(admitted)), *chosen};
  }

  JudgeState state_of(const JudgeTask& task) override {
    const Place place{judge_key(task), task.device};
    const std::scoped_lock lock(mutex_);
    return state_of(place);
  }

  std::optional<AdmittedTask> known(const JudgeTask& task) override {
    const std::scoped_lock lock(mutex_);
    return find_known(task);
  }

 private:
  using Judges = std::list<std::unique_ptr<WarmJudge>>;
  enum class Health { Good, Broken };

  class Session final : public JudgeSession {
   public:
    Session(ProcessJudgePool& pool, WarmJudge& warm, const JudgeTask& task) : pool_(pool), warm_(warm), task_(task) {}
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;
    ~Session() override { pool_.give_back(warm_, healthy ? Health::Good : Health::Broken); }
    Result<ReferenceSamples> time_compiled(const CompiledBaselineRequest& request, std::stop_token stop) override {
      return pool_.time_compiled(task_, request, stop);
    }

   private:
    ProcessJudgePool& pool_;
    WarmJudge& warm_;
    JudgeTask task_;
  };

  /// A device for a task.
  struct Place {
    std::string key;
    /// Unset: the processor.
    std::optional<JudgeDevice> device;
    /// JudgePlace::is_free.
    std::function<bool()> is_free{};
    [[nodiscard]] const std::string& name() const { return name_of(device); }
  };

  /// A request that waits for a judge, or to admit its task beside others.
  struct WaitingRequest {
    /// The first is that of the device where it waits.
    std::vector<Place> places;
    /// The admission_key() of the task that is to be admitted; empty: it waits for a judge.
    std::string admits{};
    /// QueuedRequest::overtaken.
    int overtaken = 0;
    [[nodiscard]] const Place& home() const { return places.front(); }
  };

  static WaitingRequest wait_for(const std::vector<JudgePlace>& places) {
    WaitingRequest request;
    for (const auto& place : places)
      request.places.push_back({judge_key(place.task), place.task.device, place.is_free});
    return request;
  }

  /// A task that is being admitted beside others.
  struct RunningAdmission {
    std::string device;
    std::string key;
  };

  /// The device's UUID; empty: the processor.
  static const std::string& name_of(const std::optional<JudgeDevice>& device) {
    static const std::string processor;
    return device ? device->uuid : processor;
  }
  static const std::string& device_of(const JudgeTask& task) { return name_of(task.device); }

  /// The present use of a device. Requires, like all functions up to take(): the mutex is held.
  [[nodiscard]] DeviceWork work_on(const std::string& device) const {
    const bool has_judge = std::any_of(judges_.begin(), judges_.end(),
                                       [&](const auto& judge) { return judge->busy && judge->device == device; });
    const auto admissions =
        std::count_if(admitting_.begin(), admitting_.end(), [&](const auto& one) { return one.device == device; });
    return {.has_judge = has_judge, .admissions = static_cast<std::size_t>(admissions)};
  }

  [[nodiscard]] bool is_admitting(const std::string& key) const {
    return std::any_of(admitting_.begin(), admitting_.end(), [&](const auto& one) { return one.key == key; });
  }

  [[nodiscard]] std::optional<AdmittedTask> find_known(const JudgeTask& task) const {
    for (const auto& key : {admission_key(task), judge_key(task)})
      if (const auto found = known_.find(key); found != known_.end()) return found->second;
    return std::nullopt;
  }

  /// True if a request waits for this device. While its task is being admitted, it waits for that alone.
  [[nodiscard]] bool waits_for(const WaitingRequest& one, const std::string& device) const {
    return one.home().name() == device && !is_admitting(one.admits);
  }

  [[nodiscard]] bool is_waited_for(const std::string& device) const {
    return std::any_of(waiting_.begin(), waiting_.end(), [&](const auto& one) { return waits_for(one, device); });
  }

  /// True if a device has nothing to do.
  [[nodiscard]] bool is_free(const std::string& device) const {
    return may_use_judge(work_on(device)) && !is_waited_for(device);
  }

  [[nodiscard]] JudgeState state_of(const Place& place) const {
    if (find(place.key) != judges_.end()) return JudgeState::Warm;
    std::uint64_t kept = 0;
    for (const auto& judge : judges_)
      if (judge->device == place.name()) kept += judge->kept_bytes;
    const bool room =
        count_on(place.name()) < options_.max_warm && (!place.device || kept <= idle_bytes(*place.device));
    return room ? JudgeState::Cold : JudgeState::Evicts;
  }

  /// The index of the place that may judge a request now.
  [[nodiscard]] std::optional<std::size_t> find_place(const WaitingRequest& request) const {
    if (may_use_judge(work_on(request.home().name())) && is_next(request)) return 0;
    for (std::size_t i = 1; i < request.places.size(); ++i)
      if (const auto& name = request.places[i].name();
          is_free(name) && taken_over_by(name) == &request && request.places[i].is_free())
        return i;
    return std::nullopt;
  }

  /// The index of the place that may admit the task of a request now. Requires: its places are GPUs of one model.
  [[nodiscard]] std::optional<std::size_t> find_place_to_admit(const WaitingRequest& request) const {
    if (is_admitting(request.admits)) return std::nullopt;
    const auto most = most_admissions(*request.home().device);
    const auto work = work_on(request.home().name());
    if (may_admit(work, most) && (is_next(request) || joins(request, work))) return 0;
    for (std::size_t i = 1; i < request.places.size(); ++i)
      if (const auto& name = request.places[i].name();
          may_admit(work_on(name), most) && !is_waited_for(name) && request.places[i].is_free())
        return i;
    return std::nullopt;
  }

  /// True if it is the first that waits to be admitted on its device, and joins those that are being admitted.
  [[nodiscard]] bool joins(const WaitingRequest& request, const DeviceWork& work) const {
    const auto& device = request.home().name();
    const auto first =
        std::find_if(waiting_.begin(), waiting_.end(), [&](const auto& one) { return waits_for(one, device); });
    const auto first_to_admit = std::find_if(
        first, waiting_.end(), [&](const auto& one) { return waits_for(one, device) && !one.admits.empty(); });
    return &*first_to_admit == &request && may_join(work, {.overtaken = first->overtaken});
  }

  /// True if another task is admitted at the same time, or waits for it. Else the judge that admits it had better stay.
  [[nodiscard]] bool has_company(const WaitingRequest& request, std::size_t place) const {
    const auto& device = request.places[place].name();
    return work_on(device).admissions > 0 || std::any_of(waiting_.begin(), waiting_.end(), [&](const auto& one) {
             return !one.admits.empty() && one.admits != request.admits && waits_for(one, request.home().name());
           });
  }

  /// The request that a free device takes over; null: none.
  [[nodiscard]] const WaitingRequest* taken_over_by(const std::string& device) const {
    std::vector<const WaitingRequest*> requests;
    std::vector<MovableRequest> movable;
    std::map<std::string, int> ahead;
    for (const auto& one : waiting_) {
      if (!one.admits.empty()) continue;
      const auto& home = one.home();
      auto [count, is_first] = ahead.try_emplace(home.name(), 0);
      if (is_first) count->second = may_use_judge(work_on(home.name())) ? 0 : 1;
      const auto here = std::find_if(one.places.begin(), one.places.end(),
                                     [&](const Place& place) { return place.name() == device; });
      if (here != one.places.end()) {
        requests.push_back(&one);
        movable.push_back({.ahead = count->second, .there = state_of(home), .here = state_of(*here)});
      }
      ++count->second;
    }
    const auto chosen = request_to_take_over(movable);
    return chosen ? requests[*chosen] : nullptr;
  }

  [[nodiscard]] Judges::const_iterator find(const std::string& key) const {
    return std::find_if(judges_.begin(), judges_.end(), [&](const auto& judge) { return judge->key == key; });
  }

  [[nodiscard]] std::size_t count_on(const std::string& device) const {
    return static_cast<std::size_t>(
        std::count_if(judges_.begin(), judges_.end(), [&](const auto& judge) { return judge->device == device; }));
  }

  /// Bytes that the idle judges of a device may keep while another one starts there.
  static std::uint64_t idle_bytes(const JudgeDevice& device) {
    return device.memory_bytes == 0 ? std::numeric_limits<std::uint64_t>::max() : device.memory_bytes / k_idle_part;
  }

  [[nodiscard]] std::size_t most_admissions(const JudgeDevice& device) const {
    if (device.memory_bytes == 0) return 1;
    return admissions_at_a_time(device.memory_bytes, idle_bytes(device) + options_.max_warm * k_idle_judge_bytes);
  }

  /// Notes that a request begins before the first one of its device.
  void note_overtaking(std::list<WaitingRequest>::const_iterator request) {
    const auto first = std::find_if(waiting_.begin(), waiting_.end(),
                                    [&](const auto& one) { return waits_for(one, request->home().name()); });
    if (&*first != &*request) ++first->overtaken;
  }

  [[nodiscard]] bool is_next(const WaitingRequest& request) const {
    std::vector<const WaitingRequest*> requests;
    std::vector<QueuedRequest> queue;
    for (const auto& one : waiting_) {
      if (!waits_for(one, request.home().name())) continue;
      requests.push_back(&one);
      queue.push_back({.warm = find(one.home().key) != judges_.end(), .overtaken = one.overtaken});
    }
    return requests.at(next_in_queue(queue)) == &request;
  }

  /// Takes the judge of a task. Requires: no judge of its device is in use.
  Result<std::unique_ptr<JudgeSession>> take(std::unique_lock<std::mutex> lock, const JudgePlace& place,
                                             std::stop_token stop) {
    const auto& task = place.task;
    const auto key = judge_key(task);
    if (const auto found = find(key); found != judges_.end()) {
      (*found)->busy = true;
      judges_.splice(judges_.begin(), judges_, found);
      remember(judges_.front()->task, task);
      return open_session(*judges_.front(), task);
    }
    judges_.push_front(std::make_unique<WarmJudge>());
    auto& judge = *judges_.front();
    judge.key = key;
    judge.device = device_of(task);
    auto ended = trim(judge.device, task.device);
    lock.unlock();
    ended.clear();
    if (place.on_start) place.on_start();
    if (auto started = start(judge, task, *place.gate, stop); !started) {
      give_back(judge, Health::Broken);
      return std::move(started).error();
    }
    lock.lock();
    if (judge.device_arena) judge.kept_bytes = judge.device_arena->kept_bytes;
    // What it keeps may be in the way of other judges; their tasks then had better move.
    changed_.notify_all();
    remember(judge.task, task);
    return open_session(judge, task);
  }

  /// Bytes of a device that idle judges hold. Requires: the mutex is held.
  [[nodiscard]] std::uint64_t held_idle(const std::string& device) const {
    std::uint64_t held = 0;
    for (const auto& judge : judges_)
      if (!judge->busy && judge->device == device) held += judge->kept_bytes + k_idle_judge_bytes;
    return held;
  }

  void remember(const AdmittedTask& admitted, const JudgeTask& task) {
    // An admission that is not to be kept holds for its own device, as long as this pool lives.
    const bool is_shared = !admitted.admission.cached.empty();
    const auto [place, is_new] = known_.try_emplace(is_shared ? admission_key(task) : judge_key(task), admitted);
    if (!is_new) return;
    place->second.admission.cached.clear();
    if (known_.size() <= k_most_known) return;
    // Any other entry may be dropped: a warm judge adds its task again when it is taken.
    known_.erase(place == known_.begin() ? std::next(place) : known_.begin());
  }

  std::unique_ptr<JudgeSession> open_session(WarmJudge& judge, const JudgeTask& task) {
    auto session = std::make_unique<Session>(*this, judge, task);
    static_cast<AdmittedTask&>(*session) = judge.task;
    session->judge = judge.judge.get();
    session->exchange_fd = judge.exchange->fd();
    if (judge.device_arena) {
      session->device_fd = judge.device_arena->fd;
      session->launch = judge.device_arena->launch;
    }
    session->threads = task.threads;
    session->reference_times = &judge.reference_times;
    if (task.device) session->idle_bytes = held_idle(task.device->uuid);
    return session;
  }

  void give_back(WarmJudge& judge, Health health) {
    std::unique_ptr<WarmJudge> removed;
    const std::scoped_lock lock(mutex_);
    judge.busy = false;
    if (health == Health::Broken) {
      const auto found =
          std::find_if(judges_.begin(), judges_.end(), [&](const auto& one) { return one.get() == &judge; });
      removed = std::move(*found);
      judges_.erase(found);
    }
    ++version_;
    changed_.notify_all();
  }

  /// Removes the idle judges that `which` selects, most recently used first. They end when the caller drops them
  /// without the mutex, because ending one takes a driver a while. Requires: the mutex is held.
  template <class Which>
  Judges take_out(Which which) {
    Judges taken;
    for (auto judge = judges_.begin(); judge != judges_.end();) {
      const auto next = std::next(judge);
      if (!(*judge)->busy && which(**judge)) taken.splice(taken.end(), judges_, judge);
      judge = next;
    }
    changed_.notify_all();
    return taken;
  }

  /// Removes the least recently used judges of a device, and those that leave too little memory for the one that
  /// starts. Requires: the mutex is held.
  Judges trim(const std::string& name, const std::optional<JudgeDevice>& device) {
    std::size_t count = 0;
    for (const auto& judge : judges_) count += judge->busy && judge->device == name ? 1 : 0;
    std::uint64_t kept = 0;
    return take_out([&](const WarmJudge& judge) {
      if (judge.device != name) return false;
      kept += judge.kept_bytes;
      return ++count > options_.max_warm || (device && kept > idle_bytes(*device));
    });
  }

  Result<void> start(WarmJudge& warm, const JudgeTask& task, DeviceGate& gate, const std::stop_token& stop) {
    KERNELGEN_TRY(const auto shared, gate.acquire_shared(stop));
    return start(warm, task, stop);
  }

  /// Starts a judge. Requires: the caller holds the device, shared or exclusively.
  Result<void> start(WarmJudge& warm, const JudgeTask& task, const std::stop_token& stop) {
    KERNELGEN_CHECK(start_and_admit(warm, task, {}, stop));
    KERNELGEN_TRY(warm.exchange, memory_.allocate("kernelgen-exchange", warm.task.layout.bytes));
    KERNELGEN_TRY(warm.device_arena, warm.judge->attach(warm.exchange->memory()));
    return {};
  }

  /// Admits a task in a judge that ends with it. An error too where it needs more than its part of the device.
  Result<AdmittedTask> admit_beside_others(const JudgeTask& task, DeviceGate& gate, std::size_t most,
                                           const std::stop_token& stop) {
    KERNELGEN_TRY(const auto shared, gate.acquire_shared(stop));
    WarmJudge passing;
    KERNELGEN_CHECK(start_and_admit(passing, task, {.device_bytes = k_admission_bytes, .parts = most}, stop));
    if (passing.task.admission.cached.empty())
      return Error{ErrorCode::OutOfMemory, "a part of the device is not enough for all checks"};
    return std::move(passing.task);
  }

  /// Requires: the caller holds the device, shared or exclusively.
  Result<void> start_and_admit(WarmJudge& warm, const JudgeTask& task, const DevicePart& part,
                               const std::stop_token& stop) {
    KERNELGEN_TRY(auto facts, zygote_->wait_ready(k_import_timeout, stop));
    KERNELGEN_TRY(auto sockets, make_stream_pair());
    KERNELGEN_TRY(const auto pid, zygote_->fork(std::array<int, 1>{sockets.theirs.get()}));
    sockets.theirs.reset();
    warm.judge = make_judge_process(
        {.socket = std::move(sockets.ours),
         .pid = pid,
         .support_library = options_.installation.runner_support.string(),
         .memory_limit = static_cast<std::uint64_t>(k_memory_share * static_cast<double>(available_memory())),
         .part = part});
    KERNELGEN_TRY(warm.task.description, warm.judge->load(task, stop));
    const auto file = admission_file(task, facts);
    const auto cached = file.empty() ? Result<std::string>(Error{}) : read_file(file);
    auto& admission = warm.task.admission;
    KERNELGEN_TRY(admission, warm.judge->admit(cached ? std::optional<std::string>(*cached) : std::nullopt, stop));
    // A cache that cannot be written costs time, not correctness.
    if (!file.empty() && !cached && !admission.cached.empty()) [[maybe_unused]]
      const auto written = write_file_atomic(file, admission.cached, {.durability = Durability::Rename});
    KERNELGEN_TRY(warm.task.layout, warm.judge->layout());
    return {};
  }

  /// Times a compiled reference in a separate judge, which ends afterwards. Requires: the caller holds the device
  /// exclusively.
  Result<ReferenceSamples> time_compiled(const JudgeTask& task, const CompiledBaselineRequest& request,
                                         const std::stop_token& stop) {
    KERNELGEN_TRY(const auto facts, zygote_->wait_ready(k_import_timeout, stop));
    const auto key = fmt::format("format {}\nbaseline {}\nharness {}\npython {}\ntorch {}\ntriton {}\n{}{}",
                                 k_baseline_format, to_string(request.kind), harness_, facts.python, facts.torch,
                                 facts.triton, judge_key(task), request.machine);
    if (auto known = baselines_.find(key)) return *std::move(known);
    CompileReferenceRequest compile{
        .kind = request.kind, .timeout = request.timeout, .cache_dir = below_cache("compiled")};
    std::optional<TemporaryDirectory> passing;
    if (compile.cache_dir.empty()) {
      KERNELGEN_TRY(passing, TemporaryDirectory::create("/tmp", "kernelgen-compiled-"));
      compile.cache_dir = passing->path().string();
    }
    WarmJudge own;
    KERNELGEN_CHECK(start(own, task, stop));
    KERNELGEN_TRY([[maybe_unused]] const auto seed, own.judge->use_weights(1));
    KERNELGEN_TRY(auto measured, time_compiled_reference(*own.judge, compile, request.sampling, stop));
    baselines_.keep(key, measured);
    return measured;
  }

  /// A directory below the cache; empty where there is no cache.
  [[nodiscard]] std::string below_cache(std::string_view name) const {
    return options_.cache_dir.empty() ? "" : (std::filesystem::path(options_.cache_dir) / name).string();
  }

  /// The file of a cached admission. Its name depends on everything that can change the admission.
  std::string admission_file(const JudgeTask& task, const ZygoteFacts& facts) const {
    if (options_.cache_dir.empty()) return {};
    const auto directory = std::filesystem::path(options_.cache_dir) / "admissions";
    if (!make_directories(directory)) return {};
    const auto text = fmt::format("format {}\nharness {}\npython {}\ntorch {}\n{}", k_admission_format, harness_,
                                  facts.python, facts.torch, admission_key(task));
    return (directory / (sha256_hex(text) + ".json")).string();
  }

  JudgePoolOptions options_;
  SharedMemorySource& memory_;
  std::string harness_;
  BaselineStore baselines_;
  std::unique_ptr<Zygote> zygote_;
  std::mutex mutex_;
  /// Notified if a judge became idle or ended, because the next request depends on the existing judges.
  std::condition_variable_any changed_;
  std::uint64_t version_ = 0;
  /// Waiting requests in the order of arrival.
  std::list<WaitingRequest> waiting_;
  /// Tasks that are being admitted beside others.
  std::list<RunningAdmission> admitting_;
  /// Admission keys of tasks that need the device for themselves.
  std::set<std::string> alone_;
  /// Admitted tasks, by admission_key(), or by judge_key() where equal devices do not share the admission.
  std::map<std::string, AdmittedTask> known_;
  /// Judges, most recently used first.
  Judges judges_;
};

/// Digest of the judge's sources, which is part of the key of an admission.
Result<std::string> digest_of(const std::filesystem::path& directory) {
  std::vector<std::filesystem::path> files;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error))
    if (entry.path().extension() == ".py") files.push_back(entry.path());
  if (error) return Error{ErrorCode::NotFound, fmt::format("cannot read {}: {}", directory.string(), error.message())};
  std::sort(files.begin(), files.end());
  std::string all;
  for (const auto& file : files) {
    KERNELGEN_TRY(auto text, read_file(file));
    all += fmt::format("{} {}\n", file.filename().string(), sha256_hex(text));
  }
  return sha256_hex(all);
}

}  // namespace

namespace {

/// `device`: the line that tells devices apart.
std::string key_of(const JudgeTask& task, const std::string& device) {
  std::string text = fmt::format("precision {}\ntask {}\nthreads {}\n{}", to_string(task.precision),
                                 task.source.content_id, task.threads, device);
  if (task.rtol) text += fmt::format("rtol {}\n", *task.rtol);
  if (task.atol) text += fmt::format("atol {}\n", *task.atol);
  for (const auto& [name, value] : task.shrink) text += fmt::format("shrink {} {}\n", name, value);
  return text;
}

}  // namespace

std::string judge_key(const JudgeTask& task) {
  return key_of(task, task.device ? fmt::format("device {}\n", task.device->uuid) : std::string());
}

std::string admission_key(const JudgeTask& task) {
  return key_of(task, task.device ? fmt::format("model {}\n", task.device->model) : std::string());
}

Result<std::unique_ptr<JudgePool>> make_judge_pool(JudgePoolOptions options, SharedMemorySource& memory) {
  KERNELGEN_TRY(auto harness, digest_of(options.installation.python_dir / "kernelgen_judge"));
  auto pool = std::make_unique<ProcessJudgePool>(std::move(options), memory, std::move(harness));
  KERNELGEN_CHECK(pool->start_zygote());
  return std::unique_ptr<JudgePool>(std::move(pool));
}

}  // namespace v0
}  // namespace kernelgen
