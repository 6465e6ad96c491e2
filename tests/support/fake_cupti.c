/* A libcupti.so.13 for machines without a GPU. Whatever runs, the device's activities are those that the test chooses:
 *
 *   KGEN_FAKE_CUPTI    "NANOSECONDS NAME;NANOSECONDS NAME"; each a kernel. Without it CUPTI does not start.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define API __attribute__((visibility("default")))

enum { k_not_initialized = 15, k_no_more_records = 12, k_subscribed_already = 39, k_kernel = 10, k_name_bytes = 128 };

struct record {
  uint32_t kind;
  uint32_t unused_1[3];
  uint64_t start_ns;
  uint64_t end_ns;
  uint64_t completed_ns;
  uint32_t unused_2[13];
  uint32_t correlation;
  int64_t grid;
  const char* name;
};

typedef void (*request_buffer)(uint8_t** buffer, size_t* bytes, size_t* most_records);
typedef void (*take_buffer)(void* context, uint32_t stream, uint8_t* buffer, size_t bytes, size_t valid);

static request_buffer request;
static take_buffer take;
static char names[16][k_name_bytes];

API int cuptiActivityRegisterCallbacks(request_buffer on_request, take_buffer on_complete) {
  request = on_request;
  take = on_complete;
  return getenv("KGEN_FAKE_CUPTI") != NULL ? 0 : k_not_initialized;
}

API int cuptiActivityEnable(int kind) {
  (void)kind;
  return 0;
}

API int cuptiActivityDisable(int kind) {
  (void)kind;
  return 0;
}

API int cuptiSubscribe(void** subscriber, void* callback, void* data) {
  (void)subscriber, (void)callback, (void)data;
  return k_subscribed_already;
}

API int cuptiUnsubscribe(void* subscriber) {
  (void)subscriber;
  return 0;
}

API int cuptiEnableDomain(uint32_t enable, void* subscriber, int domain) {
  (void)enable, (void)subscriber, (void)domain;
  return 0;
}

API int cuptiActivityFlushAll(uint32_t flags) {
  (void)flags;
  uint8_t* buffer = NULL;
  size_t bytes = 0, most = 0, count = 0;
  request(&buffer, &bytes, &most);
  struct record* records = (struct record*)(void*)buffer;
  const char* at = getenv("KGEN_FAKE_CUPTI");
  for (uint64_t now = 1000; at != NULL && *at != '\0' && count < sizeof names / sizeof *names; ++count) {
    char* end = NULL;
    const uint64_t ns = strtoull(at, &end, 10);
    at = *end == ' ' ? end + 1 : end;
    const size_t length = strcspn(at, ";");
    memset(names[count], 0, k_name_bytes);
    memcpy(names[count], at, length < k_name_bytes ? length : k_name_bytes - 1);
    memset(&records[count], 0, sizeof *records);
    records[count].kind = k_kernel;
    records[count].start_ns = now;
    records[count].end_ns = now += ns;
    records[count].name = names[count];
    at += length;
    if (*at == ';') ++at;
  }
  take(NULL, 0, buffer, bytes, count * sizeof *records);
  return 0;
}

API int cuptiActivityGetNextRecord(uint8_t* buffer, size_t valid, struct record** record) {
  uint8_t* next = *record == NULL ? buffer : (uint8_t*)(*record + 1);
  if (next >= buffer + valid) return k_no_more_records;
  *record = (struct record*)(void*)next;
  return 0;
}
