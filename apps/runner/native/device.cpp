#include "device.hpp"

#include <array>

#include "../runner_support.h"
#include "channel.hpp"

namespace kgen_runner {
namespace {

constexpr int k_driver_out_of_memory = 2;

}  // namespace

std::unique_ptr<Device> Device::open(const std::string& uuid, std::string& error) {
  std::array<char, 256> reason{};
  kgen_gpu* gpu = kgen_gpu_open(uuid.c_str(), reason.data(), reason.size());
  if (gpu != nullptr) return std::unique_ptr<Device>(new Device(gpu));
  error = reason.data();
  return nullptr;
}

std::byte* Device::import_arena(int fd, std::uint64_t bytes) {
  void* address = nullptr;
  if (kgen_gpu_import_shared(gpu_.get(), fd, bytes, &address) != 0) return nullptr;
  return static_cast<std::byte*>(address);
}

void* Device::allocate(std::uint64_t bytes) {
  void* address = nullptr;
  return kgen_gpu_allocate(gpu_.get(), bytes, &address) == 0 ? address : nullptr;
}

void Device::release(void* address) {
  if (address != nullptr) kgen_gpu_free(gpu_.get(), address);
}

void Device::fill(void* address, int byte, std::uint64_t bytes) {
  // A fault of the candidate shows in the call that follows.
  kgen_gpu_fill(gpu_.get(), address, byte, bytes, stream());
}

bool Device::begin(kgen_reply& reply) { return ok(kgen_gpu_begin_call(gpu_.get(), stream()), reply); }

bool Device::begin_replay(kgen_reply& reply) { return ok(kgen_gpu_begin_replay(gpu_.get(), stream()), reply); }

bool Device::end(kgen_reply& reply) {
  kgen_gpu_call call{};
  const int status = kgen_gpu_end_call(gpu_.get(), stream(), &call);
  reply.end_ns = kgen_now_ns();
  reply.arg[1] = static_cast<std::uint64_t>(call.off_stream_ns);
  reply.arg[3] = static_cast<std::uint64_t>(call.device_ns);
  return ok(status, reply);
}

bool Device::finish(kgen_reply& reply) {
  const bool fine = ok(kgen_gpu_synchronize(gpu_.get()), reply);
  reply.end_ns = kgen_now_ns();
  return fine;
}

bool Device::replay(void* graph, kgen_reply& reply) { return ok(kgen_gpu_replay(gpu_.get(), graph, stream()), reply); }

bool Device::begin_activities(kgen_reply& reply) {
  std::array<char, 256> reason{};
  if (kgen_gpu_begin_activities(reason.data(), reason.size()) == 0) return true;
  reply.status = KGEN_STATUS_FAILED;
  set_text(reply, reason.data());
  return false;
}

void Device::end_activities(kgen_reply& reply) {
  const bool is_done = finish(reply);
  std::array<char, KGEN_REPLY_TEXT_BYTES> text{};
  reply.arg[3] = kgen_gpu_end_activities(text.data(), text.size());
  if (is_done && reply.status == KGEN_STATUS_OK) set_text(reply, text.data());
}

/// The driver's fault is more precise than the candidate's message.
bool Device::ok(int status, kgen_reply& reply) {
  if (status == 0) return true;
  reply.status = status == k_driver_out_of_memory ? KGEN_STATUS_OUT_OF_MEMORY : KGEN_STATUS_DEVICE_FAULT;
  reply.detail = static_cast<std::uint32_t>(status);
  set_text(reply, error());
  return false;
}

void Device::refuse_capture(kgen_reply& reply) const {
  // The candidate's own message is kept.
  if (reply.text_length == 0) set_text(reply, error());
  reply.status = KGEN_STATUS_NOT_CAPTURABLE;
}

}  // namespace kgen_runner
