// attack: C05 a POSIX timer undoes each stop, and a thread computes before the call is asked for
// task: big_gelu
// twin: gelu_scalar.cpp

#include <math.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#include <atomic>
#include <thread>
#include <vector>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION
KGEN_API int kgen_prepare(const kgen_prepare_args*, kgen_prepare_result*) { return 0; }
KGEN_API void kgen_destroy(void*) {}

namespace {
const float* x = nullptr;
uint64_t count = 0;
std::vector<float> seen, answer;
std::atomic<bool> is_ready{false};

bool is_known(uint64_t step) {
  for (uint64_t i = 0; i < count; i += step)
    if (memcmp(&seen[i], &x[i], sizeof(float)) != 0) return false;
  return true;
}

/// Sees new inputs, waits until they do not change any more, and computes.
void work_ahead() {
  for (;;) {
    while (is_ready || is_known(4099)) std::this_thread::sleep_for(std::chrono::microseconds(20));
    do {
      memcpy(seen.data(), x, count * sizeof(float));
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    } while (!is_known(1));
    for (uint64_t i = 0; i < count; ++i) answer[i] = 0.5F * seen[i] * (1 + erff(seen[i] * 0.70710678F));
    is_ready = true;
  }
}

void begin() {
  sigevent event{};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = SIGCONT;
  timer_t timer{};
  const itimerspec often{{0, 200000}, {0, 200000}};
  if (timer_create(CLOCK_MONOTONIC, &event, &timer) == 0) timer_settime(timer, 0, &often, nullptr);
  std::thread(work_ahead).detach();
}
}  // namespace

KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  const kgen_tensor* input = kgen_at(&args->inputs, 0);
  auto* y = static_cast<float*>(kgen_at(&args->outputs, 0)->data);
  if (x == nullptr) {
    x = static_cast<const float*>(input->data);
    count = input->element_count;
    seen.assign(x, x + count);
    answer.resize(count);
    begin();
  }
  if (is_ready && is_known(257)) {
    memcpy(y, answer.data(), count * sizeof(float));
  } else {
    for (uint64_t i = 0; i < count; ++i) y[i] = 0.5F * x[i] * (1 + erff(x[i] * 0.70710678F));
  }
  is_ready = false;
  return 0;
}
