#include "job.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <limits>
#include <utility>

#include <kernelgen/abi.h>

namespace kgen_runner {
namespace {

constexpr std::uint64_t k_page = 4096;
constexpr std::size_t k_max_rank = 64;      // torch's own limit
constexpr std::size_t k_max_items = 65536;  // a network has some hundreds
constexpr int k_max_threads = 4096;
constexpr std::uint64_t k_max_slots = 4096;
constexpr std::uint64_t k_max_slot_bytes = std::uint64_t{1} << 46;

/// Thrown and caught in this file only: a nested parser is clearer without a result type at every step.
struct Malformed {
  std::string reason;
};

[[noreturn]] void fail(std::string reason) { throw Malformed{std::move(reason)}; }

/// The words of one line, read from the front.
class Words {
 public:
  explicit Words(std::string_view line) : rest_(line) {}

  std::string_view next(const char* what) {
    if (rest_.empty()) fail(std::string("missing ") + what);
    const std::size_t end = std::min(rest_.find(' '), rest_.size());
    const std::string_view word = rest_.substr(0, end);
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    return word;
  }

  /// The last word of a line, which may be an empty string.
  std::string_view remainder() { return std::exchange(rest_, {}); }

  template <typename Number>
  Number number(const char* what) {
    const std::string_view word = next(what);
    Number value{};
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc{} || end != word.data() + word.size()) fail(std::string("bad ") + what);
    return value;
  }

  void finish() const {
    if (!rest_.empty()) fail("something after the last word");
  }

 private:
  std::string_view rest_;
};

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

std::string decode(std::string_view word) {
  std::string text;
  text.reserve(word.size());
  for (std::size_t i = 0; i < word.size(); ++i) {
    if (word[i] != '%') {
      text.push_back(word[i]);
      continue;
    }
    const int high = i + 1 < word.size() ? hex_digit(word[i + 1]) : -1;
    const int low = i + 2 < word.size() ? hex_digit(word[i + 2]) : -1;
    if (high < 0 || low < 0 || high + low == 0) fail("bad percent code");  // %00 would end a C string
    text.push_back(static_cast<char>(high * 16 + low));
    i += 2;
  }
  if (text.find('\0') != std::string::npos) fail("a zero byte");
  return text;
}

std::string decode_name(std::string_view word) {
  std::string name = decode(word);
  if (name.empty()) fail("empty name");
  return name;
}

std::int32_t parse_dtype(std::string_view word) {
  static constexpr std::array<std::pair<std::string_view, std::int32_t>, 12> names{{
      {"float64", KGEN_FLOAT64},
      {"float32", KGEN_FLOAT32},
      {"float16", KGEN_FLOAT16},
      {"bfloat16", KGEN_BFLOAT16},
      {"int64", KGEN_INT64},
      {"int32", KGEN_INT32},
      {"int16", KGEN_INT16},
      {"int8", KGEN_INT8},
      {"uint8", KGEN_UINT8},
      {"bool", KGEN_BOOL},
      {"complex64", KGEN_COMPLEX64},
      {"complex128", KGEN_COMPLEX128},
  }};
  for (const auto& [name, value] : names) {
    if (name == word) return value;
  }
  fail("unknown dtype");
}

std::optional<Role> parse_role(std::string_view word) {
  for (int i = 0; i < k_role_count; ++i) {
    if (word == to_string(static_cast<Role>(i))) return static_cast<Role>(i);
  }
  // A native candidate does not use the Python runner's report segment.
  if (word == "report") return std::nullopt;
  fail("unknown role");
}

std::uint64_t multiply(std::uint64_t a, std::uint64_t b) {
  std::uint64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) fail("numbers too large");
  return product;
}

std::uint64_t add(std::uint64_t a, std::uint64_t b) {
  std::uint64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) fail("numbers too large");
  return sum;
}

/// Counts elements, and checks that shape and strides reach exactly nbytes.
void check_extent(JobTensor& tensor) {
  std::uint64_t count = 1;
  std::uint64_t reach = 1;
  for (std::size_t i = 0; i < tensor.shape.size(); ++i) {
    const auto length = static_cast<std::uint64_t>(tensor.shape[i]);
    count = multiply(count, length);
    if (length > 1) reach = add(reach, multiply(length - 1, static_cast<std::uint64_t>(tensor.strides[i])));
  }
  tensor.element_count = count;
  const std::uint64_t expected = count == 0 ? 0 : multiply(reach, kgen_dtype_size(tensor.dtype));
  if (tensor.nbytes != expected) fail("nbytes does not fit shape and strides");
}

void check_place(const JobTensor& tensor, std::uint64_t arena_bytes) {
  if (tensor.segment_bytes == 0 || tensor.segment_bytes % k_page != 0 || tensor.segment_offset % k_page != 0) {
    fail("segment is not made of pages");
  }
  if (add(tensor.segment_offset, tensor.segment_bytes) > arena_bytes) fail("segment outside the arena");
  if (tensor.offset % KGEN_ALIGNMENT != 0) fail("tensor is not aligned");
  if (add(tensor.offset, tensor.nbytes) > tensor.segment_bytes) fail("tensor outside its segment");
}

std::optional<JobTensor> parse_tensor(Words& words, std::uint64_t arena_bytes) {
  JobTensor tensor;
  const std::optional<Role> role = parse_role(words.next("role"));
  tensor.name = decode_name(words.next("name"));
  tensor.dtype = parse_dtype(words.next("dtype"));
  const auto rank = words.number<std::size_t>("rank");
  if (rank > k_max_rank) fail("rank too large");
  for (auto* list : {&tensor.shape, &tensor.strides}) {
    for (std::size_t i = 0; i < rank; ++i) {
      list->push_back(words.number<std::int64_t>("dimension or stride"));
      if (list->back() < 0) fail("negative dimension or stride");
    }
  }
  tensor.segment_offset = words.number<std::uint64_t>("segment offset");
  tensor.segment_bytes = words.number<std::uint64_t>("segment bytes");
  tensor.offset = words.number<std::uint64_t>("offset");
  tensor.nbytes = words.number<std::uint64_t>("nbytes");
  words.finish();
  check_extent(tensor);
  check_place(tensor, arena_bytes);
  if (!role) return std::nullopt;
  tensor.role = *role;
  return tensor;
}

/// Python's integers have no limit: larger values are clamped, the text stays exact.
std::int64_t parse_int(const std::string& text) {
  std::int64_t value = 0;
  const char* begin = text.data() + (text.starts_with('+') ? 1 : 0);
  const auto [end, error] = std::from_chars(begin, text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range) {
    using Limits = std::numeric_limits<std::int64_t>;
    return text.starts_with('-') ? Limits::min() : Limits::max();
  }
  if (error != std::errc{} || end != text.data() + text.size()) fail("bad integer");
  return value;
}

double parse_float(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || end != text.c_str() + text.size()) fail("bad number");
  return value;
}

ScalarPlace parse_place(std::string_view word) {
  if (word == "input") return ScalarPlace::Input;
  if (word == "init") return ScalarPlace::Init;
  fail("a scalar belongs to input or init");
}

JobScalar parse_scalar(Words& words) {
  JobScalar scalar;
  scalar.place = parse_place(words.next("place"));
  scalar.name = decode_name(words.next("name"));
  const std::string_view type = words.next("type");
  scalar.as_text = decode(words.remainder());
  if (type == "bool") {
    if (scalar.as_text != "True" && scalar.as_text != "False") fail("bad bool");
    scalar.kind = KGEN_SCALAR_BOOL;
    scalar.as_int = scalar.as_text == "True" ? 1 : 0;
    scalar.as_float = static_cast<double>(scalar.as_int);
  } else if (type == "int") {
    scalar.kind = KGEN_SCALAR_INT;
    scalar.as_int = parse_int(scalar.as_text);
    scalar.as_float = parse_float(scalar.as_text);
  } else if (type == "float") {
    scalar.kind = KGEN_SCALAR_FLOAT;
    scalar.as_float = parse_float(scalar.as_text);
  } else if (type == "str") {
    scalar.kind = KGEN_SCALAR_STRING;
  } else if (type == "none") {
    scalar.kind = KGEN_SCALAR_NONE;
    scalar.as_text = "None";
  } else {
    fail("unknown scalar type");
  }
  return scalar;
}

JobScalar parse_absent(Words& words) {
  JobScalar scalar;
  scalar.place = parse_place(words.next("place"));
  scalar.name = decode_name(words.next("name"));
  words.finish();
  scalar.kind = KGEN_SCALAR_NONE;
  scalar.as_text = "None";
  return scalar;
}

/// Checks the segments of all slots.
void check_overlap(const Job& job) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges;
  for (const JobTensor& tensor : job.tensors) {
    for (std::uint64_t slot = 0; slot < (is_in_slot(tensor.role) ? job.slots : 1); ++slot) {
      const std::uint64_t begin = tensor.segment_offset + slot * job.slot_bytes;
      if (begin > job.arena_bytes || tensor.segment_bytes > job.arena_bytes - begin)
        fail("a slot outside of the arena");
      ranges.emplace_back(begin, begin + tensor.segment_bytes);
    }
  }
  std::sort(ranges.begin(), ranges.end());
  for (std::size_t i = 1; i < ranges.size(); ++i) {
    if (ranges[i].first < ranges[i - 1].second) fail("segments overlap");
  }
}

/// Parses one line; returns whether it was "end".
bool parse_line(Job& job, std::string_view line) {
  Words words(line);
  const std::string_view item = words.next("item");
  if (item == "end") {
    words.finish();
    return true;
  }
  if (job.tensors.size() + job.scalars.size() >= k_max_items) fail("too many items");
  if (item == "threads") {
    job.threads = words.number<int>("threads");
    words.finish();
    if (job.threads < 1 || job.threads > k_max_threads) fail("bad number of threads");
  } else if (item == "arena") {
    job.arena_bytes = words.number<std::uint64_t>("arena bytes");
    words.finish();
  } else if (item == "slots") {
    job.slots = words.number<std::uint64_t>("slots");
    job.slot_bytes = words.number<std::uint64_t>("bytes of a slot");
    words.finish();
    if (job.slots < 1 || job.slots > k_max_slots) fail("bad number of slots");
    if (job.slot_bytes % k_page != 0 || job.slot_bytes > k_max_slot_bytes) fail("bad bytes of a slot");
  } else if (item == "device") {
    auto& device = job.device.emplace();
    device.vendor = words.next("vendor");
    device.uuid = words.next("uuid");
    job.arena_bytes = words.number<std::uint64_t>("device arena bytes");
    words.finish();
  } else if (item == "tensor") {
    if (auto tensor = parse_tensor(words, job.arena_bytes)) job.tensors.push_back(std::move(*tensor));
  } else if (item == "scalar") {
    job.scalars.push_back(parse_scalar(words));
  } else if (item == "absent") {
    job.scalars.push_back(parse_absent(words));
  } else {
    fail("unknown item");
  }
  return false;
}

}  // namespace

bool is_in_slot(Role role) { return role == Role::Input || role == Role::Draw || role == Role::Output; }

const char* to_string(Role role) {
  static constexpr std::array<const char*, k_role_count> names{"input",     "parameter", "buffer",
                                                               "attribute", "draw",      "output"};
  return names[static_cast<std::size_t>(role)];
}

JobResult parse_job(std::string_view text) {
  Job job;
  int line_number = 0;
  try {
    bool ended = false;
    while (!ended) {
      if (text.empty()) fail("ends too early");
      const std::size_t end = std::min(text.find('\n'), text.size());
      const std::string_view line = text.substr(0, end);
      text.remove_prefix(std::min(end + 1, text.size()));
      ++line_number;
      if (line_number == 1) {
        if (line != "kgen-job 1") fail("not a job of version 1");
        continue;
      }
      ended = parse_line(job, line);
    }
    if (!text.empty()) fail("something after the end");
    check_overlap(job);
  } catch (const Malformed& malformed) {
    return {std::nullopt, "job line " + std::to_string(line_number) + ": " + malformed.reason};
  }
  return {std::move(job), {}};
}

}  // namespace kgen_runner
