#include <gtest/gtest.h>
#include <medley/kernels/dynamic_code.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace medley::kernels {
namespace {

using Published = std::vector<std::pair<int, double>>;  // values by code

void ExpectPublished(Map map, const Published& published) {
  const auto table = DynamicMap(map);
  for (const auto& [code, value] : published)
    EXPECT_NEAR(table.at(static_cast<std::size_t>(code)), value, 2e-7 * std::abs(value)) << "code " << code;
  EXPECT_TRUE(std::is_sorted(table.begin(), table.end()));
}

// Of bitsandbytes' create_dynamic_map(signed=True) and (signed=False), in float.
TEST(DynamicMap, IsThePublishedOne) {
  ExpectPublished(Map::kSigned,
                  {{0, -0.99296874},      {1, -0.97890627},      {2, -0.96484375},      {63, -0.10703126},
                   {64, -0.098593749},    {95, -0.01140625},     {96, -0.0097187497},   {111, -0.0012812499},
                   {120, -8.8749999e-05}, {125, -3.2500002e-06}, {126, -5.5000004e-07}, {127, 0},
                   {128, 5.5000004e-07},  {129, 3.2500002e-06},  {130, 7.7499999e-06},  {131, 2.1249998e-05},
                   {160, 0.01421875},     {200, 0.23359375},     {254, 0.99296874},     {255, 1}});
  ExpectPublished(Map::kUnsigned, {{0, 0},
                                   {1, 3.2500003e-07},
                                   {2, 7.7499999e-07},
                                   {3, 2.1249998e-06},
                                   {6, 8.8749994e-06},
                                   {7, 1.5624999e-05},
                                   {14, 9.4374998e-05},
                                   {30, 0.00097187504},
                                   {31, 0.001140625},
                                   {62, 0.0098593747},
                                   {63, 0.010703126},
                                   {100, 0.06273438},
                                   {126, 0.099296875},
                                   {127, 0.10351562},
                                   {200, 0.61679685},
                                   {254, 0.9964844},
                                   {255, 1}});
}

template <Map kMap>
void ExpectComputedAsListed() {
  const auto table = DynamicMap(kMap);
  for (int code = 0; code < 256; ++code) {
    const float listed = table.at(static_cast<std::size_t>(code)), value = ValueOf<kMap>(code);
    EXPECT_NEAR(value, listed, 1e-6 * std::abs(listed)) << code;
    EXPECT_EQ(CodeOf<kMap>(listed), code);
    EXPECT_EQ(CodeOf<kMap>(value), code);
  }
}

TEST(DynamicCode, IsComputedAsTheTableHasIt) {
  ExpectComputedAsListed<Map::kSigned>();
  ExpectComputedAsListed<Map::kUnsigned>();
}

// Against a search over the table.
template <Map kMap>
void ExpectNearest(float value, const std::array<float, 256>& table) {
  const std::int32_t code = CodeOf<kMap>(value);
  ASSERT_TRUE(code >= 0 && code < 256) << value;
  double least = 2;
  for (const float listed : table) least = std::min(least, std::abs(static_cast<double>(listed) - value));
  const double found = std::abs(static_cast<double>(table.at(static_cast<std::size_t>(code))) - value);
  EXPECT_LE(found, least + 1e-6 * std::abs(value)) << value << " has " << code;
}

TEST(DynamicCode, IsTheNearest) {
  const auto with_sign = DynamicMap(Map::kSigned), without = DynamicMap(Map::kUnsigned);
  const std::int32_t one = BitsOf(1.0F);
  for (std::int32_t bits = BitsOf(1e-9F); bits <= one; bits += 9973) {
    const float value = FloatOf(bits);
    ExpectNearest<Map::kSigned>(value, with_sign);
    ExpectNearest<Map::kSigned>(-value, with_sign);
    ExpectNearest<Map::kUnsigned>(value, without);
  }
  EXPECT_EQ(CodeOf<Map::kSigned>(-1.0F), 0);
  EXPECT_EQ(CodeOf<Map::kSigned>(1.0F), 255);
  EXPECT_EQ(CodeOf<Map::kSigned>(0.0F), kZeroOfSigned);
  EXPECT_EQ(CodeOf<Map::kUnsigned>(0.0F), 0);
  EXPECT_EQ(ValueOf<Map::kSigned>(kZeroOfSigned), 0.0F);
  EXPECT_EQ(ValueOf<Map::kUnsigned>(0), 0.0F);
}

}  // namespace
}  // namespace medley::kernels
