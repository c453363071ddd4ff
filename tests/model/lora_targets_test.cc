#include <gtest/gtest.h>
#include <medley/base/error.h>
#include <medley/model/lora_targets.h>

#include <string>
#include <vector>

#include "tests/words.h"

namespace medley {
namespace {

using test::MessageOf;

const std::vector<std::string> kMaps = {"model.layers.0.self_attn.q_proj", "model.layers.0.mlp.up_proj",
                                        "model.layers.1.self_attn.q_proj", "model.layers.1.mlp.up_proj"};

LoraConfig With(NamesOrPattern targets) { return {.rank = 2, .targets = std::move(targets)}; }

// Which maps get one: "0101".
std::string Taken(LoraTargets& targets) {
  std::string taken;
  for (const std::string& map : kMaps) taken += targets.Take(map, 8, 6) ? '1' : '0';
  return taken;
}

std::string Taken(NamesOrPattern names) {
  LoraTargets targets(With(std::move(names)));
  std::string taken = Taken(targets);
  targets.Check();
  return taken;
}

TEST(LoraTargets, AreNamesOrEndsOfNamesBehindADot) {
  EXPECT_EQ(Taken({.names = {"q_proj"}}), "1010");
  EXPECT_EQ(Taken({.names = {"model.layers.1.mlp.up_proj"}}), "0001");
  EXPECT_EQ(Taken({.names = {"0.mlp.up_proj", "q_proj"}}), "1110");
  LoraTargets no_end(With({.names = {"proj"}}));
  EXPECT_EQ(Taken(no_end), "0000");
}

TEST(LoraTargets, ATextIsARegularExpressionForTheWholeName) {
  EXPECT_EQ(Taken({.pattern = R"(.*\.(q|k)_proj)"}), "1010");
  EXPECT_EQ(Taken({.pattern = R"(model\.layers\.0\..*)"}), "1100");
  EXPECT_EQ(Taken({.pattern = R"((?!.*up_proj\z).*layers\.1.*)"}), "0010");
  LoraTargets part(With({.pattern = "q_proj"}));
  EXPECT_EQ(Taken(part), "0000");
}

TEST(LoraTargets, AllLinearIsAllOfThem) { EXPECT_EQ(Taken({.pattern = kAllLinear}), "1111"); }

TEST(LoraTargets, OneThatNamesNothingIsRefusedWithTheNamesThatThereAre) {
  LoraTargets targets(With({.names = {"q_proj", "qproj"}}));
  Taken(targets);
  EXPECT_EQ(
      MessageOf<InputError>([&] { targets.Check(); }),
      "lora.targets: 'qproj' is no linear map of the model's language; it has q_proj, up_proj, such as "
      "model.layers.0.mlp.up_proj. A list has names or ends of names, a text is a regular expression for "
      "whole names");
  LoraTargets pattern(With({.pattern = "q_proj"}));
  Taken(pattern);
  EXPECT_NE(MessageOf<InputError>([&] { pattern.Check(); }).find("'q_proj' is no linear map"),
            std::string::npos);
}

// As PEFT takes them.
TEST(LoraTargets, OfAFolderMayNameModulesThatTheModelLacksBesideOthers) {
  LoraConfig lora = With({.names = {"query_key_value", "up_proj", "fc1"}});
  lora.pretrained = "/some/adapter";
  LoraTargets targets(lora);
  EXPECT_EQ(Taken(targets), "0101");
  EXPECT_TRUE(targets.Problems().empty());
}

TEST(LoraTargets, OfAFolderAreForAnotherModel) {
  LoraConfig lora = With({.names = {"fc1"}});
  lora.pretrained = "/some/adapter";
  LoraTargets targets(lora);
  Taken(targets);
  EXPECT_NE(targets.Problems().at("targets").find("The adapters of /some/adapter are for another model"),
            std::string::npos);
}

TEST(LoraTargets, ARankAboveTheSmallerSideIsRefused) {
  LoraConfig lora = With({.names = {"q_proj"}});
  for (const std::int64_t rank : {6, 7}) {
    lora.rank = rank;
    LoraTargets targets(lora);
    Taken(targets);
    targets.Take("narrow.up_proj", 1, 1);  // has none
    EXPECT_EQ(MessageOf<InputError>([&] { targets.Check(); }),
              rank == 6
                  ? ""
                  : "lora.rank: expected at most 6, the smaller side of model.layers.0.self_attn.q_proj "
                    "(6 x 8), found 7");
  }
}

TEST(LoraTargets, APatternThatTakesTooLongIsRefused) {
  LoraTargets targets(With({.pattern = "(a+)+[bc]"}));
  EXPECT_NE(
      MessageOf<InputError>([&] { targets.Take(std::string(40, 'a'), 8, 6); }).find("cannot be held against"),
      std::string::npos);
}

}  // namespace
}  // namespace medley
