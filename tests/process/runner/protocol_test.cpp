// Invalid commands, and damaged job texts.

#include <algorithm>
#include <cstring>
#include <random>

#include <unistd.h>

#include "apps/runner/native/job.hpp"
#include "driver.hpp"
#include "support/catch.hpp"

using namespace kgen_test;
using kgen_runner::parse_job;

TEST_CASE("commands out of order are answered, not obeyed", "[runner][protocol]") {
  Runner runner;
  for (std::uint16_t op :
       {KGEN_OP_PREPARE, KGEN_OP_RUN, KGEN_OP_DESTROY, KGEN_OP_CONSTRUCT, KGEN_OP_LOAD, KGEN_OP_JOB}) {
    CHECK(runner.ask(op, {1})->status == KGEN_STATUS_PROTOCOL);
  }
  CHECK(runner.ask(KGEN_OP_RUN, {0})->status == KGEN_STATUS_PROTOCOL);
  CHECK(runner.ask(999)->status == KGEN_STATUS_PROTOCOL);
  REQUIRE(runner.load("correct")->status == KGEN_STATUS_OK);
  CHECK(runner.load("correct")->status == KGEN_STATUS_PROTOCOL);
  CHECK(runner.ask(KGEN_OP_RUN, {1})->status == KGEN_STATUS_PROTOCOL);
  CHECK(runner.ask(KGEN_OP_RUN, {0})->status == KGEN_STATUS_PROTOCOL);
  CHECK(runner.ask(KGEN_OP_PREPARE, {KGEN_MAX_WEIGHT_SETS + 1})->status == KGEN_STATUS_PROTOCOL);
  CHECK(runner.ask(KGEN_OP_PREPARE, {0})->status == KGEN_STATUS_PROTOCOL);
  REQUIRE(runner.ask(KGEN_OP_PREPARE, {1})->status == KGEN_STATUS_OK);
  CHECK(runner.ask(KGEN_OP_PREPARE, {1})->status == KGEN_STATUS_PROTOCOL);
  CHECK(runner.ask(KGEN_OP_RUN, {1})->status == KGEN_STATUS_OK);
}

TEST_CASE("between the job and the candidate, a call that does nothing can be rehearsed", "[runner][protocol]") {
  Runner runner;
  const SharedMemory job{std::string_view(job_text())};
  const SharedMemory arena(12288);
  REQUIRE(runner.ask(KGEN_OP_JOB, {}, {job.fd(), arena.fd()})->status == KGEN_STATUS_OK);
  CHECK(runner.ask(KGEN_OP_JOB, {}, {job.fd(), arena.fd()})->status == KGEN_STATUS_PROTOCOL);
  for (int i = 0; i < 3; ++i) {
    const auto rehearsed = runner.ask(KGEN_OP_RUN, {0});
    REQUIRE(rehearsed);
    CHECK(rehearsed->status == KGEN_STATUS_OK);
    CHECK(rehearsed->end_ns >= rehearsed->start_ns);
  }
  const auto worked = runner.ask(KGEN_OP_RUN, {0, 2'000'000});
  REQUIRE(worked);
  CHECK(worked->end_ns - worked->start_ns >= 2'000'000);
  CHECK(runner.ask(KGEN_OP_RUN, {1})->status == KGEN_STATUS_PROTOCOL);
}

TEST_CASE("a series of calls goes through slots in a row, and after the last to the first", "[runner][protocol]") {
  Runner runner;
  REQUIRE(runner.load("correct", job_text(2, 3), {})->status == KGEN_STATUS_OK);
  REQUIRE(runner.ask(KGEN_OP_PREPARE, {1})->status == KGEN_STATUS_OK);
  const auto written = [&](std::uint64_t first, std::uint64_t calls) {
    for (std::size_t slot = 0; slot < k_most_slots; ++slot) {
      std::fill_n(runner.x(slot), 1000, static_cast<float>(slot + 1));
      std::fill_n(runner.y(slot), 1000, -1.0f);
    }
    std::fill_n(runner.w(), 1000, 3.0f);
    REQUIRE(runner.ask(KGEN_OP_RUN, {1, 0, 0, first, calls})->status == KGEN_STATUS_OK);
    std::string slots;
    for (std::size_t slot = 0; slot < k_most_slots; ++slot) slots += runner.y(slot)[999] == -1.0f ? '-' : '+';
    // Each call had the inputs of its own slot.
    for (std::size_t slot = 1; slot < k_most_slots; ++slot)
      if (slots[slot] == '+' && slots[0] == '+') CHECK(runner.y(slot)[7] != runner.y(0)[7]);
    return slots;
  };
  CHECK(written(1, 1) == "-+-");
  CHECK(written(1, 2) == "-++");
  CHECK(written(2, 2) == "+-+");
  CHECK(written(1, 3) == "+++");
  CHECK(written(2, 0) == "--+");
  CHECK(runner.ask(KGEN_OP_RUN, {1, 0, 0, 3, 1})->status == KGEN_STATUS_PROTOCOL);
  CHECK(runner.ask(KGEN_OP_RUN, {1, 0, 0, 0, 4})->status == KGEN_STATUS_PROTOCOL);
}

TEST_CASE("packets that are no commands are answered", "[runner][protocol]") {
  Runner runner;
  REQUIRE(runner.send_bytes("hello", 5));
  CHECK(runner.receive()->status == KGEN_STATUS_PROTOCOL);
  const std::string long_one(5000, 'x');
  REQUIRE(runner.send_bytes(long_one.data(), long_one.size()));
  CHECK(runner.receive()->status == KGEN_STATUS_PROTOCOL);
  kgen_command command{};
  command.magic = KGEN_COMMAND_MAGIC;
  command.version = 9;
  REQUIRE(runner.send_bytes(&command, sizeof command));
  CHECK(runner.receive()->status == KGEN_STATUS_PROTOCOL);
  CHECK(runner.load("correct")->status == KGEN_STATUS_OK);
}

TEST_CASE("too many descriptors are refused and closed", "[runner][protocol]") {
  Runner runner;
  CHECK(runner.ask(KGEN_OP_JOB, {}, std::vector<int>(12, 0))->status == KGEN_STATUS_PROTOCOL);
  CHECK(runner.load("correct")->status == KGEN_STATUS_OK);
}

TEST_CASE("a closed control socket ends the runner", "[runner][protocol]") {
  Runner runner;
  CHECK(runner.hello().op == KGEN_OP_HELLO);
  // The destructor checks it.
}

TEST_CASE("an arena that is too small is refused", "[runner][protocol]") {
  Runner runner;
  const SharedMemory job{std::string_view(job_text())};
  const SharedMemory arena(4096);
  const auto reply = runner.ask(KGEN_OP_JOB, {}, {job.fd(), arena.fd()});
  REQUIRE(reply);
  CHECK(reply->status == KGEN_STATUS_PROTOCOL);
  CHECK(text_of(*reply) == "the arena is smaller than the job says");
}

TEST_CASE("a whole job text is read", "[runner][job]") {
  const auto result = parse_job(job_text(3));
  INFO(result.error);
  REQUIRE(result.job);
  CHECK(result.job->threads == 3);
  REQUIRE(result.job->tensors.size() == 3);
  CHECK(result.job->tensors[1].name == "layer.w");
  CHECK(result.job->tensors[2].element_count == 1000);
  REQUIRE(result.job->scalars.size() == 4);
  CHECK(result.job->scalars[1].as_text == "two words");
  CHECK(result.job->scalars[3].as_float == 0.5);
}

TEST_CASE("numbers as Python writes them", "[runner][job]") {
  const auto scalar = [](const std::string& words) {
    return parse_job("kgen-job 1\nscalar init a " + words + "\nend\n");
  };
  CHECK(scalar("float 1e-05").job->scalars[0].as_float == 1e-05);
  CHECK(scalar("float -inf").job->scalars[0].as_float < 0);
  CHECK(scalar("float nan").job->scalars[0].as_float != scalar("float nan").job->scalars[0].as_float);
  CHECK(scalar("bool True").job->scalars[0].as_int == 1);
  CHECK(scalar("int 99999999999999999999").job->scalars[0].as_int == INT64_MAX);
  CHECK(scalar("int -5").job->scalars[0].as_float == -5);
  CHECK(scalar("str ").job->scalars[0].as_text.empty());
  CHECK_FALSE(scalar("float 1.0x").job);
  CHECK_FALSE(scalar("int 1.5").job);
  CHECK_FALSE(scalar("bool true").job);
  CHECK_FALSE(scalar("str a%00b").job);
  CHECK_FALSE(scalar("str a%4").job);
}

TEST_CASE("job texts that lie about memory are refused with the line", "[runner][job]") {
  const auto error = [](const std::string& tensor) {
    return parse_job("kgen-job 1\nthreads 1\narena 8192\ntensor " + tensor + "\nend\n").error;
  };
  CHECK(error("input x float32 1 16 1 0 4096 0 64").empty());
  CHECK(error("input x float32 0 0 4096 0 4").empty());
  CHECK(error("input x float32 2 0 5 5 1 0 4096 0 0").empty());
  CHECK(error("input x float32 1 16 1 0 4096 0 60") == "job line 4: nbytes does not fit shape and strides");
  CHECK(error("input x float32 1 16 2 0 4096 0 64") == "job line 4: nbytes does not fit shape and strides");
  CHECK(error("input x float32 1 16 1 4096 8192 0 64") == "job line 4: segment outside the arena");
  CHECK(error("input x float32 1 16 1 0 4096 4096 64") == "job line 4: tensor outside its segment");
  CHECK(error("input x float32 1 16 1 0 4096 4 64") == "job line 4: tensor is not aligned");
  CHECK(error("input x float32 1 16 1 100 4096 0 64") == "job line 4: segment is not made of pages");
  CHECK(error("input x float32 1 -16 1 0 4096 0 64") == "job line 4: negative dimension or stride");
  CHECK(error("input x float32 2 4294967296 4294967296 4294967296 1 0 4096 0 64") == "job line 4: numbers too large");
  CHECK(error("input x float32 65 1 1 0 4096 0 4") == "job line 4: rank too large");
  CHECK(error("input x float99 1 16 1 0 4096 0 64") == "job line 4: unknown dtype");
  CHECK(error("thing x float32 1 16 1 0 4096 0 64") == "job line 4: unknown role");
  CHECK(error("input x float32 1 16 1 0 4096 0 64 9") == "job line 4: something after the last word");
  CHECK(error("input x float32 1 16 1 0 4096 0 64\ntensor input y float32 1 16 1 0 4096 0 64").find("overlap") !=
        std::string::npos);
  const auto slots = [](const std::string& words) {
    return parse_job(
               "kgen-job 1\nthreads 1\narena 12288\nslots " + words +
               "\ntensor input x float32 1 16 1 4096 4096 0 64\ntensor buffer b float32 1 16 1 0 4096 0 64\nend\n")
        .error;
  };
  CHECK(slots("1 0").empty());
  CHECK(slots("2 4096").empty());
  CHECK(slots("3 4096") == "job line 7: a slot outside of the arena");
  CHECK(slots("2 0").find("overlap") != std::string::npos);
  CHECK(slots("0 4096") == "job line 4: bad number of slots");
  CHECK(slots("99999 4096") == "job line 4: bad number of slots");
  CHECK(slots("2 100") == "job line 4: bad bytes of a slot");
  CHECK(slots("2 18446744073709551615") == "job line 4: bad bytes of a slot");
  CHECK(parse_job("").error == "job line 0: ends too early");
  CHECK(parse_job("kgen-job 2\nend\n").error == "job line 1: not a job of version 1");
  CHECK(parse_job("kgen-job 1\nend\nend\n").error == "job line 2: something after the end");
}

TEST_CASE("damaged job texts never do more than fail", "[runner][job][fuzz]") {
  const std::string good = job_text();
  std::mt19937 random(20240607);
  const auto below = [&](std::size_t bound) {
    return std::uniform_int_distribution<std::size_t>(0, bound - 1)(random);
  };
  static constexpr std::string_view alphabet = "0123456789 -%.\n\0abcdefxyz\xff";
  int accepted = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string text = good;
    const std::size_t changes = 1 + below(4);
    for (std::size_t i = 0; i < changes && !text.empty(); ++i) {
      const std::size_t at = below(text.size());
      switch (below(5)) {
        case 0:
          text[at] = alphabet[below(alphabet.size())];
          break;
        case 1:
          text.insert(at, 1, alphabet[below(alphabet.size())]);
          break;
        case 2:
          text.erase(at, 1 + below(20));
          break;
        case 3:
          text.insert(at, text.substr(below(text.size()), below(40)));
          break;
        default:
          text.resize(at);
      }
    }
    const auto result = parse_job(text);
    CHECK(result.job.has_value() == result.error.empty());
    if (!result.job) continue;
    ++accepted;
    for (const auto& tensor : result.job->tensors) {
      REQUIRE(tensor.segment_offset + tensor.segment_bytes <= result.job->arena_bytes);
      REQUIRE(tensor.offset + tensor.nbytes <= tensor.segment_bytes);
    }
  }
  CHECK(accepted < 20000);
}
