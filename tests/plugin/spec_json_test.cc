#include <gtest/gtest.h>
#include <medley/task/spec_check.h>
#include <medley/task/spec_json.h>

#include <bit>
#include <cmath>
#include <nlohmann/json.hpp>
#include <random>
#include <string>

namespace medley::detail {
namespace {

struct StringSink {
  std::string text;
  void Put(char c) { text += c; }
};

std::string Decimal(double value) {
  StringSink sink;
  SpecWriter<StringSink>(sink).Number(value);
  return sink.text;
}

std::string Quoted(std::string_view text) {
  StringSink sink;
  SpecWriter<StringSink>(sink).String(text);
  return sink.text;
}

TEST(SpecJson, NumbersAreTheDecimalsThatTheAuthorWrote) {
  EXPECT_EQ(Decimal(0.001), "0.001");
  EXPECT_EQ(Decimal(0.1), "0.1");
  EXPECT_EQ(Decimal(10), "10");
  EXPECT_EQ(Decimal(-2.5), "-2.5");
  EXPECT_EQ(Decimal(0), "0");
  EXPECT_EQ(Decimal(1234.5678), "1234.5678");
  EXPECT_EQ(Decimal(99.999999999999), "99.999999999999");
  EXPECT_EQ(Decimal(1e-12), "1e-12");
  EXPECT_EQ(Decimal(2.5e300), "2.5e300");
  EXPECT_EQ(Decimal(1.0 / 3), "0.3333333333333333");
}

TEST(SpecJson, ShortDecimalsComeBackWhole) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 20'000; ++i) {
    const auto digits = static_cast<long>(random() % 1'000'000'000);
    const int places = static_cast<int>(random() % 12);
    const double value =
        std::strtod((std::to_string(digits) + "e-" + std::to_string(places)).c_str(), nullptr);
    ASSERT_EQ(std::strtod(Decimal(value).c_str(), nullptr), value) << Decimal(value);
    ASSERT_LE(Decimal(value).size(), 22u);
  }
}

TEST(SpecJson, AnyDoubleComesBackToTheLastBitOrTheOneBeside) {
  std::mt19937_64 random(5);
  for (int i = 0; i < 20'000; ++i) {
    const double value = std::bit_cast<double>(random());
    if (!std::isfinite(value) || std::abs(value) < 1e-300) continue;
    const double back = nlohmann::json::parse(Decimal(value)).get<double>();
    ASSERT_NEAR(back / value, 1, 1e-15) << Decimal(value);
  }
}

TEST(SpecJson, TextsAreQuoted) {
  for (const std::string text : {"plain", "a \"quote\" and \\", "line\nfeed\ttab\x01", "\u00e4\u20ac"}) {
    EXPECT_EQ(nlohmann::json::parse(Quoted(text)).get<std::string>(), text);
  }
}

TEST(SpecCheck, NamesFollowTheRule) {
  for (const char* good : {"a", "zoom_gold", "x-1", "a0"}) EXPECT_TRUE(IsName(good)) << good;
  for (const char* bad : {"", "A", "1a", "_a", "a b", "a/b", "../a", "\u00e4"})
    EXPECT_FALSE(IsName(bad)) << bad;
  EXPECT_TRUE(IsName(std::string(64, 'a')));
  EXPECT_FALSE(IsName(std::string(65, 'a')));
}

}  // namespace
}  // namespace medley::detail
