// The inline helpers of the ABI header.

#include <array>
#include <cmath>
#include <cstring>

#include <kernelgen/abi.h>

#include "support/catch.hpp"

TEST_CASE("tensors and scalars are found by name", "[abi]") {
  const std::array<std::int64_t, 2> shape{3, 4};
  const std::array<std::int64_t, 2> strides{4, 1};
  const std::array<std::int64_t, 2> transposed{1, 3};
  kgen_tensor a{sizeof a, KGEN_FLOAT32, 0, 2, "a", nullptr, shape.data(), strides.data(), 48, 12};
  kgen_tensor b{sizeof b, KGEN_FLOAT32, 0, 2, "b.c", nullptr, shape.data(), transposed.data(), 48, 12};
  const std::array<const kgen_tensor*, 2> items{&a, &b};
  const kgen_tensor_list list{2, items.data()};
  CHECK(kgen_find(&list, "b.c") == &b);
  CHECK(kgen_find(&list, "c") == nullptr);
  CHECK(kgen_at(&list, 1) == &b);
  CHECK(kgen_at(&list, 2) == nullptr);
  CHECK(kgen_dim(&a, 0) == 3);
  CHECK(kgen_dim(&a, -1) == 4);
  CHECK(kgen_dim(&a, -3) == 1);
  CHECK(kgen_is_contiguous(&a) == 1);
  CHECK(kgen_is_contiguous(&b) == 0);
  CHECK(kgen_is(&a, KGEN_FLOAT32, 2) == 1);
  CHECK(kgen_is(&a, KGEN_FLOAT64, 2) == 0);
  CHECK(kgen_is(nullptr, KGEN_FLOAT32, 2) == 0);

  const kgen_scalar eps{sizeof(kgen_scalar), KGEN_SCALAR_FLOAT, "eps", 0, 1e-5, "1e-05"};
  const kgen_scalar dim{sizeof(kgen_scalar), KGEN_SCALAR_INT, "dim", -1, -1.0, "-1"};
  const std::array<const kgen_scalar*, 2> scalars{&eps, &dim};
  const kgen_scalar_list numbers{2, scalars.data()};
  CHECK(kgen_number(&numbers, "eps", 7) == 1e-5);
  CHECK(kgen_number(&numbers, "none", 7) == 7);
  CHECK(kgen_integer(&numbers, "dim", 7) == -1);
  CHECK(kgen_integer(&numbers, "eps", 7) == 7);
}

TEST_CASE("a reason that is too long is cut", "[abi]") {
  std::array<char, 8> text{};
  const kgen_error error{text.data(), text.size()};
  CHECK(kgen_fail(&error, "a long reason") == 1);
  CHECK(std::strcmp(text.data(), "a long ") == 0);
  const kgen_error nowhere{nullptr, 0};
  CHECK(kgen_fail(&nowhere, "a long reason") == 1);
}

TEST_CASE("half formats round to nearest even", "[abi]") {
  CHECK(kgen_float_to_float16(1.0f) == 0x3C00);
  CHECK(kgen_float_to_float16(65504.0f) == 0x7BFF);
  CHECK(kgen_float_to_float16(65520.0f) == 0x7C00);
  CHECK(kgen_float_to_float16(-0.0f) == 0x8000);
  CHECK(kgen_float_to_float16(5.9604645e-8f) == 1);         // smallest subnormal
  CHECK(kgen_float_to_float16(1.0f + 0x1p-11f) == 0x3C00);  // a tie goes to even
  CHECK(std::isnan(kgen_float16_to_float(kgen_float_to_float16(NAN))));
  CHECK(kgen_float_to_bfloat16(1.0f + 0x1p-8f) == 0x3F80);
  CHECK(kgen_float_to_bfloat16(3.4e38f) == 0x7F80);
  CHECK(std::isnan(kgen_bfloat16_to_float(kgen_float_to_bfloat16(NAN))));
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const float value = kgen_float16_to_float(half);
    if (!std::isnan(value)) REQUIRE(kgen_float_to_float16(value) == half);
    const float brain = kgen_bfloat16_to_float(half);
    if (!std::isnan(brain)) REQUIRE(kgen_float_to_bfloat16(brain) == half);
  }
}
