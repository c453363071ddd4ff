#include <medley/plugin/variant_of.h>

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <medley/plugin/info_json.h>

#include "tests/plugin/test_files.h"
#include "tests/words.h"

namespace medley::testing {
namespace {

using test::Has;
using test::MessageOf;

class VariantOfTest : public ::testing::Test {
 protected:
  VariantInfo Of(const std::string& variant, const OptionValues& options) const {
    TaskConfig settings;
    settings.variant = variant;
    settings.options = options;
    return VariantOf(task_, settings);
  }

  Registry registry_ = ScanOnly({Fixture("widths"), Fixture("tiny")});
  const TaskInfo& task_ = registry_.Require("widths");
};

TEST_F(VariantOfTest, HasTheSizesThatOptionsSay) {
  EXPECT_EQ(Of("default", {}).passes.at(0).text_width, 16) << "the default's";
  const VariantInfo wide = Of("default", {{"text_width", 256.0}});
  EXPECT_EQ(wide.passes.at(0).text_width, 256);
  EXPECT_EQ(wide.terms.at(0).max_items, 256);
  EXPECT_EQ(wide.TokensPerRow(), 256);
  EXPECT_TRUE(HasSizesByOption(wide));
  const VariantInfo fixed = Of("fixed", {{"text_width", 256.0}});
  EXPECT_EQ(fixed.passes.at(0).text_width, 24);
  EXPECT_FALSE(HasSizesByOption(fixed));
}

TEST_F(VariantOfTest, OneThatIsNoWholeNumberInItsRangeIsRefused) {
  const auto refused = [&](double value) {
    return MessageOf([&] { Of("default", {{"text_width", value}}); });
  };
  EXPECT_TRUE(Has(refused(16.5), "task 'widths': option 'text_width': expected a whole number of at most"))
      << refused(16.5);
  EXPECT_TRUE(Has(refused(7), "expected 8.0 to 512.0 (tokens of a row), found 7.0")) << refused(7);
  EXPECT_TRUE(Has(MessageOf([&] { Of("widest", {}); }), "has no variant 'widest'"));
}

// Tools show a spec as it is without options; its note names them.
TEST_F(VariantOfTest, ToolsShowTheDefaults) {
  const auto shown = TaskToJson(task_, registry_.FileOf("widths"));
  EXPECT_EQ(shown.at("passes").at(0).at("text_width"), 16);
  EXPECT_EQ(shown.at("passes").at(0).at("text_width_of"), "text_width");
  EXPECT_EQ(shown.at("terms").at(0).at("max_items"), 16);
  const auto note = nlohmann::json::parse(registry_.FileOf("widths").note);
  EXPECT_EQ(note.at("tasks").at(0).at("passes").at(0).at("text_width"), 0);
}

TEST_F(VariantOfTest, ANoteWithoutThemDoesNotNameThem) {
  EXPECT_FALSE(Has(registry_.FileOf("tiny").note, "text_width_of"));
  EXPECT_FALSE(Has(registry_.FileOf("tiny").note, "max_items_of"));
}

}  // namespace
}  // namespace medley::testing
